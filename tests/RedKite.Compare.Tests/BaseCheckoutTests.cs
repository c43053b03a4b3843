using RedKite.Figures;

namespace RedKite.Compare.Tests;

/// <summary>The base's worktree has the requested revision and leaves nothing behind.</summary>
public sealed class BaseCheckoutTests : IDisposable
{
    private readonly TemporaryFolder _repository = new();

    public BaseCheckoutTests()
    {
        Assert.SkipWhen(ExternalProgram.Find("git") is null, "git is not installed");
        Git("init", "--quiet");
        Commit("first");
        Commit("second");
    }

    [Fact]
    public void Checkout_has_the_revision_and_leaves_the_working_copy_unchanged()
    {
        using var checkout = new BaseCheckout(_repository.Path, "HEAD~1");
        Assert.Equal("first", File.ReadAllText(Path.Combine(checkout.Root, "file")));
        Assert.Equal("second", File.ReadAllText(_repository.File("file")));
        Assert.Equal(Git("rev-parse", "HEAD~1").Trim(), checkout.Revision);
    }

    [Fact]
    public void Checkout_is_removed_with_its_build_output()
    {
        string folder;
        using (var checkout = new BaseCheckout(_repository.Path, "HEAD"))
        {
            folder = checkout.Folder;
            Directory.CreateDirectory(Path.Combine(checkout.Root, "artifacts"));
            File.WriteAllText(Path.Combine(checkout.Root, "artifacts", "built"), "");
            Assert.Equal(2, CountWorktrees());
        }

        Assert.False(Directory.Exists(folder));
        Assert.Equal(1, CountWorktrees());
    }

    [Fact]
    public void Checkout_is_removed_when_measuring_fails()
    {
        string? folder = null;
        Assert.Throws<CannotMeasureException>(() =>
        {
            using var checkout = new BaseCheckout(_repository.Path, "HEAD");
            folder = checkout.Folder;
            MicrobenchmarkLaunches.Build(checkout.Root);
        });
        Assert.False(Directory.Exists(folder));
        Assert.Equal(1, CountWorktrees());
    }

    [Theory]
    [InlineData("gone")]
    [InlineData("--all")]
    [InlineData("HEAD:file")]
    public void Unknown_revision_is_reported(string revision)
    {
        CannotMeasureException thrown = Assert.Throws<CannotMeasureException>(() => new BaseCheckout(_repository.Path, revision));
        Assert.Equal($"{revision} is not a revision of this repository", thrown.Message);
        Assert.Equal(1, CountWorktrees());
    }

    public void Dispose() => _repository.Dispose();

    private void Commit(string text)
    {
        File.WriteAllText(_repository.File("file"), text);
        Git("add", "file");
        Git("-c", "user.name=Tests", "-c", "user.email=tests@example.org", "-c", "commit.gpgsign=false", "commit", "--quiet", "-m", text);
    }

    private int CountWorktrees() => Git("worktree", "list").TrimEnd().Split('\n').Length;

    private string Git(params string[] arguments) => ExternalProgram.Run("git", ["-C", _repository.Path, .. arguments]);
}
