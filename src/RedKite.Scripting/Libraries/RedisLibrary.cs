using System.Security.Cryptography;
using System.Text;
using RedKite.Scripting.Interop;

namespace RedKite.Scripting.Libraries;

/// <summary>The functions of the table redis that are neither commands nor replies.</summary>
internal static class RedisLibrary
{
    private const int LogLevelMax = 3;
    private const int ReplicationToLog = 1;
    private const int ReplicationToReplicas = 2;
    private const int ReplicationFlagsMax = ReplicationToLog | ReplicationToReplicas;

    internal static void Add(LuaInterpreter lua)
    {
        lua.Add("redis.sha1hex", Sha1);
        lua.Add("redis.log", Log);
        lua.Add("redis.setresp", SetProtocol);
        lua.Add("redis.set_repl", SetReplication);
        lua.Add("redis.acl_check_cmd", CheckCommand);
    }

#pragma warning disable CA1308, CA5350 // scripts are named by the SHA-1 of their text, in lower case
    /// <summary>The name of a script: the SHA-1 of its text.</summary>
    internal static string Sha1(ReadOnlySpan<byte> text) => Convert.ToHexStringLower(SHA1.HashData(text));
#pragma warning restore CA1308, CA5350

    private static int Sha1(LuaCall call)
    {
        if (call.Count != 1) throw new LuaException("wrong number of arguments");
        LuaType type = call.TypeOf(1);
        call.Push(Sha1(type is LuaType.String or LuaType.Number ? call.Text(1) : []));
        return 1;
    }

    // An entry of the log has fewer characters, so that it still says that it was cut.
    private const int LogTextMax = 64 * 1024;

    private static int Log(LuaCall call)
    {
        if (call.Count < 2) throw new LuaException("redis.log() requires two arguments or more.");
        if (!call.TryNumber(1, out double given)) throw new LuaException("First argument must be a number (log level).");
        long level = LuaCall.ToInt64(given);
        if (level is < 0 or > LogLevelMax) throw new LuaException("Invalid log level.");
        var text = new StringBuilder();
        for (int i = 2; i <= call.Count; i++)
        {
            if (call.TypeOf(i) is not (LuaType.String or LuaType.Number)) continue;
            if (i > 2) text.Append(' ');
            ReadOnlySpan<byte> part = call.Text(i);
            text.Append(Encoding.Latin1.GetString(part[..Math.Min(part.Length, Math.Max(0, LogTextMax - text.Length))]));
        }

        call.Owner.Host.Log((int)level, text.ToString());
        return 0;
    }

    private static int SetProtocol(LuaCall call)
    {
        if (call.Count != 1) throw new LuaException("redis.setresp() requires one argument.");
        long version = call.TryNumber(1, out double given) ? LuaCall.ToInt64(given) : 0;
        if (version is not (2 or 3)) throw new LuaException("RESP version must be 2 or 3.");
        call.Owner.Resp3 = version == 3;
        return 0;
    }

    private static int SetReplication(LuaCall call)
    {
        if (call.Count != 1) throw new LuaException("redis.set_repl() requires one argument.");
        long flags = call.TryNumber(1, out double given) ? LuaCall.ToInt64(given) : 0;
        if ((flags & ~ReplicationFlagsMax) != 0) throw new LuaException("Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.");
        call.Owner.Host.SetReplication((flags & ReplicationToLog) != 0, (flags & ReplicationToReplicas) != 0);
        return 0;
    }

    private static int CheckCommand(LuaCall call)
    {
        int count = call.Count;
        if (count == 0) throw new LuaException("Please specify at least one argument for this redis lib call");
        if (call.Owner.ReadArguments(call.State, count) is { } problem) throw new LuaException(problem);
        CommandPermission permission = call.Owner.Host.MayExecute(call.Owner.Input, call.Owner.Arguments(count));
        if (permission == CommandPermission.NoCommand) throw new LuaException("Invalid command passed to redis.acl_check_cmd()");
        if (permission == CommandPermission.WrongArguments) throw new LuaException("Wrong number of args for redis.acl_check_cmd()");
        Lua.Push(call.State, permission == CommandPermission.Allowed);
        return 1;
    }
}
