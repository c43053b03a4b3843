using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>Protected commands and settings: the errors while they are forbidden, allowed locally, or allowed.</summary>
public sealed class GateTests
{
    [Theory]
    [InlineData("no")]
    [InlineData("local")]
    [InlineData("yes")]
    public void Module_commands(string access)
    {
        using ServerPair pair = ServerPair.Start("--enable-module-command", access);
        using PairedConnection client = new(pair);
        foreach (string line in (string[])
            [
                "MODULE LOAD", "MODULE LOAD /nope.so", "module load nope.so a b", "MODULE LOADEX", "MODULE LOADEX /nope.so", "MODULE LOADEX /nope.so CONFIG a b ARGS x", "MODULE LOADEX /nope.so CONFIG a", "MODULE LOADEX /nope.so NOPE",
                "MODULE UNLOAD", "MODULE UNLOAD nope", "MODULE UNLOAD nope x", "MODULE NOPE", "MODULE", "ACL DRYRUN default MODULE LOAD x", "COMMAND INFO module|load module|loadex module|unload",
                "CONFIG GET enable-module-command", "CONFIG SET enable-module-command yes", "MULTI", "MODULE LOAD /x", "MODULE UNLOAD x", "EXEC", "MULTI", "MODULE LIST x", "EXEC",
                "EVAL \"return redis.pcall('MODULE','LOAD','/x')\" 0", "EVAL \"return redis.pcall('MODULE','UNLOAD','x')\" 0", "ACL SETUSER u on nopass +@all -module|load", "AUTH u x", "MODULE LOAD x", "MODULE UNLOAD x", "ACL SETUSER u -module", "MODULE UNLOAD x",
            ])
        {
            client.Run(line);
        }

        Assert.Equal(Acl.AclLogText.Of(pair.Oracle.Control), Acl.AclLogText.Of(pair.Subject.Control));
    }

    [Theory]
    [InlineData("no")]
    [InlineData("local")]
    [InlineData("yes")]
    public void Debug(string access)
    {
        using ServerPair pair = ServerPair.Start("--enable-debug-command", access);
        using PairedConnection client = new(pair);
        foreach (string line in (string[])
            [
                "DEBUG", "DEBUG SLEEP 0", "DEBUG NOPE", "debug sleep", "CONFIG GET enable-debug-command", "CONFIG SET enable-debug-command yes", "MULTI", "DEBUG SLEEP 0", "EXEC", "EVAL \"return redis.pcall('DEBUG','SLEEP','0')\" 0", "DEBUG STRINGMATCH-LEN 1 a",
                "ACL SETUSER u on nopass +@all -debug", "AUTH u x", "DEBUG SLEEP 0",
            ])
        {
            if (line.Contains("STRINGMATCH", StringComparison.Ordinal) && access != "no") continue; // RedKite has no such test
            client.Run(line);
        }

        Assert.Equal(Acl.AclLogText.Of(pair.Oracle.Control), Acl.AclLogText.Of(pair.Subject.Control));
    }

    [Theory]
    [InlineData("no")]
    [InlineData("local")]
    [InlineData("yes")]
    public void Protected_settings(string access)
    {
        using ServerPair pair = ServerPair.Start("--enable-protected-configs", access);
        using PairedConnection client = new(pair);
        foreach (string line in (string[])["CONFIG SET dir /nope-nope", "CONFIG SET dbfilename a/b", "CONFIG SET dbfilename x.rdb", "CONFIG SET enable-protected-configs yes", "CONFIG GET enable-protected-configs", "CONFIG SET dbfilename y.rdb maxmemory-samples 3", "CONFIG GET maxmemory-samples"])
        {
            client.Run(line);
        }
    }

    [Fact]
    public void Protected_mode_needs_neither_a_password_nor_another_machine()
    {
        using ServerPair pair = ServerPair.Start("--protected-mode", "yes", "--bind", "127.0.0.1");
        using PairedConnection client = new(pair);
        foreach (string line in (string[])["PING", "CONFIG GET protected-mode", "CONFIG SET protected-mode x", "CONFIG SET protected-mode no", "CONFIG GET protected-mode", "CONFIG SET protected-mode yes", "ACL SETUSER default off", "PING"]) client.Run(line);
    }
}
