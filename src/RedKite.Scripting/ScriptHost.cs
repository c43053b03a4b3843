using RedKite.Protocol;

namespace RedKite.Scripting;

/// <summary>The server's functions that a script uses. Called on the script's thread.</summary>
internal abstract class ScriptHost
{
    /// <summary>Executes a command for the script.</summary>
    /// <param name="input">The bytes of all arguments.</param>
    /// <param name="arguments">Where each of them is; the first is the command's name.</param>
    /// <param name="reply">Receives exactly one reply. Its protocol is the one that the script chose.</param>
    internal abstract void Call(Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments, ReplyWriter reply);

    /// <summary>Whether the script's user may execute a command.</summary>
    internal abstract CommandPermission MayExecute(Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments);

    /// <summary>Counts an error in the script's own reply.</summary>
    /// <param name="code">Its first word.</param>
    /// <param name="wasCounted">Whether it is the error of a command, which was counted as that.</param>
    internal abstract void NoteError(string code, bool wasCounted);

    /// <summary>Where what the script's next commands do goes, until it ends: redis.set_repl.</summary>
    internal abstract void SetReplication(bool toLog, bool toReplicas);

    /// <summary>Writes a line to the server's log: 0 debug, 1 verbose, 2 notice, 3 warning.</summary>
    internal abstract void Log(int level, string text);

    /// <summary>
    /// Called about every 10,000 loop iterations and function calls, and before each command.
    /// </summary>
    /// <returns>The error that ends the script, or null: it may continue.</returns>
    internal abstract string? Tick();

    /// <summary>Reports an exception that cannot pass the script, and ends the process; if it returns, the interpreter does.</summary>
    internal virtual void Stop(Exception failure)
    {
    }
}
