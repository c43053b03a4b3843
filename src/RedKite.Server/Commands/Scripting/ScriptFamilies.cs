using RedKite.Server.Diagnostics;
using RedKite.Server.Model;
using RedKite.Server.Sessions;

namespace RedKite.Server.Commands.Scripting;

/// <summary>The families of scripts and functions, and what they share.</summary>
internal static class ScriptFamilies
{
    internal static CommandFamily[] Of(ServerParts parts)
    {
        var scripts = new ScriptCache(parts.Script.Uses);
        var libraries = new FunctionLibraries(parts.Script.Uses);
        parts.Durability.Functions = () => [.. libraries.All.Select(library => library.Code)];
        var host = new ScriptCallHost(parts.Script, parts.Log, parts.Run);
        parts.Script.Figures = () => new ScriptFigures(
            scripts.Count, scripts.TextBytes, scripts.InterpreterBytes, scripts.Evicted, libraries.LibraryCount, libraries.FunctionCount, libraries.TextBytes, libraries.InterpreterBytes,
            scripts.Compilations + libraries.Compilations);
        var invocation = new ScriptInvocation(host, parts.Script);
        return [new ScriptCommands(scripts, invocation, parts.Script).Family, new FunctionCommands(libraries, invocation, host, parts.Script, parts.Run, () => parts.Replicas.PayloadVersion).Family];
    }
}
