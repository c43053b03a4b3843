namespace RedKite.Scripting.Translation;

/// <summary>A script does not compile. The message is Lua 5.1's, its characters are bytes.</summary>
#pragma warning disable CA1032, CA1064 // thrown and caught inside this assembly only
internal sealed class ScriptSyntaxException(string message) : Exception(message);
#pragma warning restore CA1032, CA1064
