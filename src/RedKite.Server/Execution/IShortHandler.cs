using RedKite.Server.Model;

namespace RedKite.Server.Execution;

/// <summary>What executes a short command whose stripe is locked.</summary>
internal interface IShortHandler
{
    /// <summary>Whether it reads the clock itself where a key that it finds has an expiry, so that the time may be that of a call shortly before.</summary>
    bool ReadsClock { get; }

    void Execute(ref CommandContext cmd);
}

/// <summary>The handler of the command's row.</summary>
internal readonly struct RowHandler : IShortHandler
{
    public bool ReadsClock => false;

    public void Execute(ref CommandContext cmd) => cmd.Command.Handler(ref cmd);
}
