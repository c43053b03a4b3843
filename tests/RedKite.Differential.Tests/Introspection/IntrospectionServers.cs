using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Introspection;

/// <summary>Redis 8 and RedKite for the tests of a class, which only ask about commands and change nothing.</summary>
public sealed class IntrospectionServers : IDisposable
{
    private readonly ServerProcess? _oracle = OracleProgram.Redis8 is { } program ? ServerProcess.Start(program) : null;
    private readonly ServerProcess _subject = ServerProcess.Start(ServerProgram.UnderTest);

    /// <summary>Connects to both servers. Skips the test without Redis 8.</summary>
    internal (RespConnection Oracle, RespConnection Subject) Connect(int protocol = 3)
    {
        Assert.SkipWhen(_oracle is null, "introspection: " + OracleProgram.Redis8Missing);
        (RespConnection Oracle, RespConnection Subject) connections = (_oracle.Connect(), _subject.Connect());
        Assert.False(connections.Oracle.Run($"HELLO {protocol}").IsError);
        Assert.False(connections.Subject.Run($"HELLO {protocol}").IsError);
        return connections;
    }

    public void Dispose()
    {
        _oracle?.Dispose();
        _subject.Dispose();
    }
}
