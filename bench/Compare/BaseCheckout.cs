using RedKite.Figures;

namespace RedKite.Compare;

/// <summary>
/// A revision of the repository in its own git worktree under the temporary folder. Disposal, or the program's exit at the
/// latest, removes it with its build output.
/// </summary>
internal sealed class BaseCheckout : IDisposable
{
    private readonly string _repository;
    private readonly Lock _disposal = new();
    private bool _isDisposed;

    /// <exception cref="CannotMeasureException">The revision does not exist, or git failed; nothing is left behind.</exception>
    internal BaseCheckout(string repository, string revision)
    {
        _repository = repository;
        AppDomain.CurrentDomain.ProcessExit += OnProgramExit;
        try
        {
            Revision = Git("rev-parse", "--verify", "--quiet", "--end-of-options", $"{revision}^{{commit}}").Trim();
        }
        catch (CannotMeasureException)
        {
            Dispose();
            throw new CannotMeasureException($"{revision} is not a revision of this repository");
        }

        try
        {
            Git("worktree", "add", "--detach", Root, Revision);
        }
        catch
        {
            Dispose();
            throw;
        }
    }

    internal string Revision { get; }

    /// <summary>The temporary folder around the worktree; its other contents are removed with it.</summary>
    internal string Folder { get; } = Directory.CreateTempSubdirectory("redkite-base-").FullName;

    internal string Root => Path.Combine(Folder, "base");

    public void Dispose()
    {
        // An interrupted run arrives here twice at once, from the signal's thread and from its own. The second waits for the
        // first, because the program exits as soon as it returns; for the same reason the handler blocks until everything is done.
        lock (_disposal)
        {
            if (_isDisposed) return;
            _isDisposed = true;
            if (Directory.Exists(Root)) Git("worktree", "remove", "--force", Root);
            Directory.Delete(Folder, recursive: true);
            AppDomain.CurrentDomain.ProcessExit -= OnProgramExit;
        }
    }

    private void OnProgramExit(object? sender, EventArgs arguments) => Dispose();

    private string Git(params string[] arguments) => ExternalProgram.Run("git", ["-C", _repository, .. arguments]);
}
