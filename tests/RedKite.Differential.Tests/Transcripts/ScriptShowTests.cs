using RedKite.Differential.Tests.Introspection;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>SCRIPT SHOW, a command of Valkey 8, against valkey-server.</summary>
public sealed class ScriptShowTests : IDisposable
{
    private readonly ServerProcess? _oracle = OracleProgram.Valkey8 is { } program ? ServerProcess.Start(program) : null;
    private readonly ServerProcess _subject = ServerProcess.Start(ServerProgram.UnderTest);

    public void Dispose()
    {
        _oracle?.Dispose();
        _subject.Dispose();
    }

    [Fact]
    public void Replies_are_those_of_valkey()
    {
        (RespConnection oracle, RespConnection subject) = Connect();
        using (oracle)
        using (subject)
        {
            foreach (string script in (string[])["return 1", "return 'a\\xff'", "#!lua flags=no-writes\\nreturn 2", ""])
            {
                string sha = Both($"SCRIPT LOAD \"{script}\"").Text;
                Assert.Equal(CommandLine.Split($"\"{script}\"")[0], Both($"SCRIPT SHOW {sha}").Payload);
                Both($"SCRIPT SHOW {sha.ToUpperInvariant()}");
                Both($"script show {sha[1..]}");
                Both($"SCRIPT SHOW {sha} {sha}");
            }

            Both("EVAL \"return 3\" 0");
            Both("SCRIPT SHOW ffffffffffffffffffffffffffffffffffffffff").IsError("NOSCRIPT No matching script.");
            Both("SCRIPT SHOW ''");
            Both("SCRIPT SHOW").IsError("ERR wrong number of arguments for 'script|show' command");
            string cached = Both("SCRIPT LOAD \"return 4\"").Text;
            Both("MULTI").IsOk();
            Both($"SCRIPT SHOW {cached}").IsSimple("QUEUED");
            Both("EXEC").IsArray("return 4");
            Both("SCRIPT FLUSH").IsOk();
            Assert.True(Both($"SCRIPT SHOW {cached}").IsError);
        }

        RespValue Both(string line)
        {
            RespValue expected = oracle.Run(line);
            RespValue actual = subject.Run(line);
            Assert.True(expected.Equals(actual), $"{line}\n    {expected} (valkey-server)\n    {actual}");
            return actual;
        }
    }

    // The summary is each server's own.
    [Fact]
    public void Row_is_that_of_valkey()
    {
        (RespConnection oracle, RespConnection subject) = Connect();
        using (oracle)
        using (subject)
        {
            Assert.Equal(CommandEntries.Info(oracle)["script|show"], CommandEntries.Info(subject)["script|show"]);
            Assert.Equal(CommandEntries.Docs(oracle)["script|show"], CommandEntries.Docs(subject)["script|show"]);
        }
    }

    [Fact]
    public void Help_names_it_as_valkey_does()
    {
        (RespConnection oracle, RespConnection subject) = Connect();
        using (oracle)
        using (subject)
        {
            Assert.Contains(oracle.Run("SCRIPT HELP").Items, line => line.Text == "SHOW <sha1>");
            Assert.Contains(subject.Run("SCRIPT HELP").Items, line => line.Text == "SHOW <sha1>");
        }
    }

    private (RespConnection Oracle, RespConnection Subject) Connect()
    {
        Assert.SkipWhen(_oracle is null, "'./dev test' has not set up Valkey 8");
        return (_oracle.Connect(), _subject.Connect());
    }
}
