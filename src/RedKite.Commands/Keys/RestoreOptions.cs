using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Keys;

/// <summary>RESTORE's options: whether to replace an existing key, and the new key's expiry and access statistics.</summary>
internal readonly record struct RestoreOptions(bool Replaces, bool IsAbsolute, long IdleSeconds, long Frequency)
{
    /// <summary>Neither IDLETIME nor FREQ is given.</summary>
    internal const long NotGiven = -1;

    private const long FrequencyMax = 255;

    /// <summary>Parses the options behind the payload, or replies an error for the first invalid one.</summary>
    internal static bool TryReadOrReply(scoped in CommandContext cmd, int first, out RestoreOptions result)
    {
        result = default;
        bool replaces = false;
        bool isAbsolute = false;
        long idleSeconds = NotGiven;
        long frequency = NotGiven;
        var options = new OptionReader(cmd, first);
        while (options.More)
        {
            if (options.Take("REPLACE"u8))
            {
                replaces = true;
            }
            else if (options.Take("ABSTTL"u8))
            {
                isAbsolute = true;
            }
            else if (frequency == NotGiven && options.TakeWithValue("IDLETIME"u8, out int idle))
            {
                if (!cmd.TryIntegerOrReply(idle, out idleSeconds)) return false;
                if (idleSeconds < 0)
                {
                    cmd.Reply.Error("ERR Invalid IDLETIME value, must be >= 0"u8);
                    return false;
                }
            }
            else if (idleSeconds == NotGiven && options.TakeWithValue("FREQ"u8, out int counter))
            {
                if (!cmd.TryIntegerOrReply(counter, out frequency)) return false;
                if (frequency is < 0 or > FrequencyMax)
                {
                    cmd.Reply.Error("ERR Invalid FREQ value, must be >= 0 and <= 255"u8);
                    return false;
                }
            }
            else
            {
                cmd.ReplySyntaxError();
                return false;
            }
        }

        result = new RestoreOptions(replaces, isAbsolute, idleSeconds, frequency);
        return true;
    }
}
