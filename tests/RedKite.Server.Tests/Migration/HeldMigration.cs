using RedKite.Server.Tests.Commands;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Migration;

/// <summary>The beginning of tests of a transfer under way: two servers, and a target between them that holds what it is asked to.</summary>
public abstract class HeldMigration : IAsyncLifetime
{
    private protected LiveServer Source { get; set; } = null!;

    private protected LiveServer Target { get; set; } = null!;

    /// <summary>A client of the source that moves keys.</summary>
    private protected RespConnection Mover { get; set; } = null!;

    /// <summary>What is between the source and the target: it holds the replies to RESTORE.</summary>
    private protected HeldTarget Held { get; set; } = null!;

    public async ValueTask InitializeAsync()
    {
        Source = await LiveServer.StartAsync("enable-debug-command", "yes");
        Target = await LiveServer.StartAsync("enable-debug-command", "yes");
        Mover = RespConnection.Connect(Source.Server.Port);
        Held = new HeldTarget(Target.Server.Port) { Holds = true, HeldName = "RESTORE" };
    }

    public async ValueTask DisposeAsync()
    {
        GC.SuppressFinalize(this);
        Held.Dispose();
        Mover.Dispose();
        await Source.DisposeAsync();
        await Target.DisposeAsync();
    }

    /// <summary>Begins to move keys, and waits until the target has got the first one.</summary>
    private protected void BeginHeld(string arguments)
    {
        Mover.SendCommand($"MIGRATE 127.0.0.1 {Held.Port} {arguments}");
        Held.WaitUntilHeld();
    }
}
