using RedKite.Server.Model;
using RedKite.Server.Sessions;

namespace RedKite.Server.Commands.Scripting;

/// <summary>The families of scripts and functions, and what they share.</summary>
internal static class ScriptFamilies
{
    /// <param name="core">The server.</param>
    /// <param name="libraries">The libraries of functions.</param>
    /// <param name="payloadVersion">The version of the payloads that all replicas read.</param>
    internal static CommandFamily[] Of(ServerCore core, FunctionLibraries libraries, Func<int> payloadVersion)
    {
        RunningScript script = core.Script;
        var scripts = new ScriptCache(script.Uses);
        var host = new ScriptCallHost(script, core.Log, core.Run);
        script.Use(new ScriptMemory(scripts, libraries));
        var invocation = new ScriptInvocation(host, script);
        return [new ScriptCommands(scripts, invocation, script).Family, new FunctionCommands(libraries, invocation, host, script, core.Run, payloadVersion).Family];
    }

    private sealed class ScriptMemory(ScriptCache scripts, FunctionLibraries libraries) : IScriptMemory
    {
        public ScriptFigures Figures() => new(
            scripts.Count, scripts.TextBytes, scripts.InterpreterBytes, scripts.Evicted, libraries.LibraryCount, libraries.FunctionCount, libraries.TextBytes, libraries.InterpreterBytes,
            scripts.Compilations + libraries.Compilations);
    }
}
