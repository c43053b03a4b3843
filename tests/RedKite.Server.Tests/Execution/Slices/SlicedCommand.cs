using System.Text;
using RedKite.Server.Execution;
using RedKite.Server.Execution.Slices;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Execution.Slices;

/// <summary>A client whose command waits for work in slices, which the test runs.</summary>
internal sealed class SlicedCommand : IDisposable
{
    private readonly Engine _engine;
    private readonly CommandExecutor _executor;
    private readonly SliceRunner _runner;
    private bool _waits = true;

    /// <param name="engine">The server.</param>
    /// <param name="command">The command, which waits.</param>
    /// <param name="wasAccepted">Whether it is of a log or of a primary's stream.</param>
    /// <param name="asks">Whether ASKING comes before it.</param>
    internal SlicedCommand(Engine engine, string[] command, bool wasAccepted = false, bool asks = false)
    {
        _engine = engine;
        CommandExecutor executor = engine.NewExecutor();
        _executor = executor;
        _runner = new SliceRunner(engine, executor);
        Session session = engine.Clients.Add(null, engine.Clock.NowMs, engine.Users.InProcess, authenticated: true);
        byte[] request = CommandLine.Encode([.. command.Select(Encoding.Latin1.GetBytes)]);
        if (wasAccepted) executor.Time.CallersExpiry = ExpiryPolicy.Keep;
        executor.Time.Read();
        if (asks)
        {
            executor.Run(session, CommandLine.Encode(["ASKING"u8.ToArray()]));
            executor.Reply.Clear();
        }

        Assert.Equal(request.Length, executor.Run(session, request));
        Assert.Equal(0, executor.Reply.Length);
        Assert.NotNull(session.Blocked);
        Client = session.Blocked;
    }

    internal BlockedClient Client { get; }

    internal long Slices => _runner.Slices;

    internal int Restarts => Client.Restarts;

    internal string? Reply => Client.Reply is { } parts ? Encoding.Latin1.GetString(parts[0].Bytes).TrimEnd() : null;

    internal void ReadTime() => _executor.Time.Read();

    internal bool RunSlice() => _waits && (_waits = _runner.RunSlice(Client));

    internal string? RunToEnd()
    {
        while (RunSlice())
        {
        }

        return Reply;
    }

    public void Dispose()
    {
        Client.TryEnd();
        RunToEnd();
        Client.Session.Blocked = null;
        _engine.Blocked.Remove(Client);
        Client.ReleaseReply();
        Client.Dispose();
    }
}
