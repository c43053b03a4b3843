using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Commands.Arguments;

/// <summary>Effects of commands that delete a key or set its expiry: the commands that replicas and the log receive instead of the request.</summary>
internal static class KeyEffects
{
    /// <summary>Records the key's deletion.</summary>
    internal static void EffectDelete(this scoped in CommandContext cmd, int key)
    {
        if (cmd.Recording.TakesEffects) cmd.Effect("DEL"u8, 2).Argument(cmd[key]);
    }

    /// <summary>Records an absolute expiry, in Unix milliseconds.</summary>
    internal static void EffectExpireAt(this scoped in CommandContext cmd, int key, long expiryMs)
    {
        if (cmd.Recording.TakesEffects) cmd.Effect("PEXPIREAT"u8, 3).Argument(cmd[key]).Argument(expiryMs);
    }

    /// <summary>Records a string with the expiry that it has now, in Unix milliseconds.</summary>
    internal static void EffectSet(this scoped in CommandContext cmd, int key, scoped ReadOnlySpan<byte> value, long expiryMs)
    {
        if (!cmd.Recording.TakesEffects) return;
        bool expires = expiryMs != Database.NoExpiry;
        EffectArguments effect = cmd.Effect("SET"u8, expires ? 5 : 3).Argument(cmd[key]).Argument(value);
        if (expires) effect.Argument("PXAT"u8).Argument(expiryMs);
    }

    /// <summary>Records a string with an absolute expiry, in Unix milliseconds.</summary>
    internal static void EffectSetWithExpiry(this scoped in CommandContext cmd, int key, int value, long expiryMs)
    {
        if (cmd.Recording.TakesEffects) cmd.Effect("SET"u8, 5).Argument(cmd[key]).Argument(cmd[value]).Argument("PXAT"u8).Argument(expiryMs);
    }
}
