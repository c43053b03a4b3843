using System.Text;
using RedKite.Persistence.Aof;

namespace RedKite.Persistence.Tests.Aof;

/// <summary>Manifests in the form that Redis 8.0.2 writes.</summary>
public sealed class AofManifestTests
{
    [Theory]
    [InlineData("file appendonly.aof.1.base.rdb seq 1 type b\nfile appendonly.aof.1.incr.aof seq 1 type i\n")]
    [InlineData("file \"my \\\"app\\\" file.aof.3.base.rdb\" seq 3 type b\nfile \"my \\\"app\\\" file.aof.3.incr.aof\" seq 3 type i startoffset 6 endoffset 6\n")]
    [InlineData("file a.2.base.rdb seq 2 type b\nfile a.1.base.rdb seq 1 type h\nfile a.1.incr.aof seq 1 type h startoffset 0\nfile a.2.incr.aof seq 2 type i startoffset 9\nfile a.3.incr.aof seq 3 type i startoffset 12\n")]
    [InlineData("file \"\\xc3\\xa9\\n \\a\" seq 1 type b\n")]
    public void Manifest_is_written_as_it_was_read(string text)
    {
        AofManifest manifest = Parse(text);
        Assert.Equal(text, Encoding.ASCII.GetString(manifest.Format()));
    }

    [Fact]
    public void Comments_unknown_properties_and_single_quotes_are_read()
    {
        AofManifest manifest = Parse("# by hand\n  seq 4 unknown x file 'it\\'s' type b  \r\nFILE plain SEQ 2 TYPE i\n");
        Assert.Equal("it's", manifest.Base!.Name);
        Assert.Equal(4, manifest.LastBaseSequence);
        Assert.Equal("plain", manifest.Increments.Single().Name);
    }

    [Theory]
    [InlineData("", 1, "empty")]
    [InlineData("file a seq 1 type b", 1, "no end")]
    [InlineData("file a seq 1\n", 1, "it is not")]
    [InlineData("file a seq 1 type b more\n", 1, "it is not")]
    [InlineData("file \"a seq 1 type b\n", 1, "it is not")]
    [InlineData("file \"a\"b seq 1 type b\n", 1, "it is not")]
    [InlineData("\n", 1, "it is not")]
    [InlineData("file a seq 1 type x\n", 1, "unknown type")]
    [InlineData("file a seq one type b\n", 1, "no number")]
    [InlineData("file a seq 0 type b\n", 1, "lacks")]
    [InlineData("file a/b seq 1 type b\n", 1, "path")]
    [InlineData("#\nfile a seq 1 type b\nfile b seq 2 type b\n", 3, "second base")]
    [InlineData("file a seq 2 type i\nfile b seq 2 type i\n", 2, "not ascending")]
    public void Invalid_manifest_is_refused_with_its_line(string text, int line, string reason)
    {
        AofException failure = Assert.Throws<AofException>(() => Parse(text));
        Assert.Contains($"the.manifest: line {line}: ", failure.Message, StringComparison.Ordinal);
        Assert.Contains(reason, failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Too_long_line_is_refused()
    {
        Assert.Contains("too long", Assert.Throws<AofException>(() => Parse($"file {new string('a', 1_100)} seq 1 type b\n")).Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Rewrite_makes_a_new_base_and_moves_what_it_replaces_to_history()
    {
        AofManifest first = AofManifest.Empty.WithBase("a", isRdb: true, firstKept: 1).WithIncrement("a", 0);
        AofManifest rewriting = first.WithIncrement("a", 500);
        Assert.Equal(["a.1.base.rdb", "a.1.incr.aof", "a.2.incr.aof"], rewriting.Files.Select(file => file.Name));
        AofManifest done = rewriting.WithBase("a", isRdb: false, firstKept: 2);
        Assert.Equal(["a.2.base.aof", "a.2.incr.aof"], done.Files.Select(file => file.Name));
        Assert.Equal(["a.1.incr.aof", "a.1.base.rdb"], done.History.Select(file => file.Name));
        Assert.All(done.History, file => Assert.Equal(AofFileType.History, file.Type));
        Assert.Equal("file a.2.base.aof seq 2 type b\nfile a.2.incr.aof seq 2 type i startoffset 500 endoffset 900\n", Encoding.ASCII.GetString(done.WithoutHistory().WithEndOffset(900).Format()));
    }

    private static AofManifest Parse(string text) => AofManifest.Parse(Encoding.Latin1.GetBytes(text), "the.manifest");
}
