using System.Text;
using RedKite.Protocol;

namespace RedKite.Scripting;

/// <summary>Runs a compiled script or function and writes its reply.</summary>
internal static class ScriptRun
{
    /// <summary>Calls what was pushed, with its arguments, and writes its result or its error.</summary>
    /// <param name="lua">The interpreter, with the function and its arguments on the stack.</param>
    /// <param name="arguments">The number of arguments.</param>
    /// <param name="host">The server's functions for the script.</param>
    /// <param name="name">The script's name in error replies: its SHA-1, or the function's name.</param>
    /// <param name="reply">The client's reply.</param>
    /// <returns>Whether the script returned.</returns>
    internal static bool Run(LuaInterpreter lua, int arguments, ScriptHost host, string name, ReplyWriter reply)
    {
        long start = reply.Length;
        bool returned = lua.TryRun(host, arguments);
        try
        {
            if (returned) ReplyFromLua.Write(lua.State, reply, host, lua.Resp3);
        }
        catch (LuaException)
        {
            // The script was ended while its result, which may refer to one table countless times, was written.
            reply.Truncate(start);
            returned = false;
        }

        if (!returned) WriteError(lua, host, name, reply);
        lua.ClearStack();
        return returned;
    }

    private static void WriteError(LuaInterpreter lua, ScriptHost host, string name, ReplyWriter reply)
    {
        (byte[] source, int line) = lua.ErrorPosition;
        string text = lua.ErrorText();
        string position = source.Length == 0 ? "" : $", on {Encoding.Latin1.GetString(source)}:{line}.";
        ReplyFromLua.WriteError(reply, host, Encoding.Latin1.GetBytes($"{text} script: {name}{position}"), lua.ErrorIsCounted);
    }
}
