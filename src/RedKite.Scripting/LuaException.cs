namespace RedKite.Scripting;

/// <summary>An error that a function raises in the script that called it. Its characters are bytes.</summary>
#pragma warning disable CA1032, CA1064 // thrown by library functions, turned into a Lua error where they were called
internal sealed class LuaException(string message) : Exception(message)
#pragma warning restore CA1032, CA1064
{
    /// <summary>Whether the message is raised without the position in the script.</summary>
    internal bool HasNoPosition { get; init; }

    /// <summary>An argument is of the wrong type or value, in Lua's words.</summary>
    internal static LuaException Argument(int number, string function, string problem) => new($"bad argument #{number} to '{function}' ({problem})");
}
