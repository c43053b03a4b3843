using RedKite.Scripting;

namespace RedKite.Server.Model;

/// <summary>What a script lets the commands that it calls do.</summary>
[Flags]
internal enum ScriptRights
{
    None = 0,

    /// <summary>Commands that write, or publish.</summary>
    Write = 1,

    /// <summary>Commands that may need memory, although there is none.</summary>
    UseMemory = 2,
}

/// <summary>Decides what may execute inside a command at the moment: by the server's state, its role, and its memory. Its users' permissions are looked at when it executes.</summary>
internal interface IAdmission
{
    /// <summary>Why a command that a host's command calls may not write; null: it may.</summary>
    string? WriteRefusal { get; }

    /// <summary>Begins a script. In a cluster, the commands that it calls may use the keys of one slot: those that the script declares, or else the first that it uses.</summary>
    /// <param name="cmd">The command that runs it; its keys begin with its first key.</param>
    /// <param name="keys">How many keys it has.</param>
    /// <param name="mayCrossSlots">Whether it may use keys of several slots.</param>
    void BeginScript(scoped in CommandContext cmd, int keys, bool mayCrossSlots);

    /// <summary>Why a script that declares what it does may not begin; null: it may.</summary>
    /// <param name="flags">What it declares.</param>
    /// <param name="isReadOnly">Whether it was called by a command that only reads.</param>
    string? RefusalOfScript(ScriptFlags flags, bool isReadOnly);

    /// <summary>Why a script may not call a command; null: it may.</summary>
    string? RefusalOfCall(Command command, ScriptRights rights);
}
