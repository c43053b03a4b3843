using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Migration;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Keys;

/// <summary>MIGRATE's arguments.</summary>
/// <param name="Copies">Whether the keys stay here.</param>
/// <param name="Replaces">Whether they replace keys of the target.</param>
/// <param name="FirstKey">The argument of the first key.</param>
/// <param name="EndOfKeys">The argument behind the last key.</param>
/// <param name="User">The argument of the user; 0: there is none.</param>
/// <param name="Password">The argument of the password; 0: there is none.</param>
/// <param name="Database">The target's database.</param>
/// <param name="TimeoutMs">How long the target may make no progress.</param>
internal readonly record struct MigrateOptions(bool Copies, bool Replaces, int FirstKey, int EndOfKeys, int User, int Password, long Database, long TimeoutMs)
{
    private const int Host = 1;
    private const int Port = 2;
    private const int Key = 3;
    private const int TargetDatabase = 4;
    private const int Timeout = 5;
    private const int FirstOption = 6;
    private const int DefaultTimeoutMs = 1000; // as in Redis, in place of none or a negative one

    /// <summary>Parses the arguments, or replies the error. Secrets are marked as they are found, so no log shows them.</summary>
    internal static bool TryReadOrReply(ref CommandContext cmd, out MigrateOptions result)
    {
        result = default;
        bool copies = false;
        bool replaces = false;
        int firstKey = Key;
        int endOfKeys = Key + 1;
        int user = 0;
        int password = 0;
        var options = new OptionReader(cmd, FirstOption);
        while (options.More)
        {
            if (options.Take("COPY"u8))
            {
                copies = true;
            }
            else if (options.Take("REPLACE"u8))
            {
                replaces = true;
            }
            else if (options.TakeWithValue("AUTH"u8, out int secret))
            {
                cmd.Arguments.Redact(secret);
                password = secret; // as in Redis, a user that AUTH2 has named before stays
            }
            else if (options.TakeWithValues("AUTH2"u8, 2, out int name))
            {
                cmd.Arguments.Redact(name);
                cmd.Arguments.Redact(name + 1);
                (user, password) = (name, name + 1);
            }
            else if (options.Take("KEYS"u8))
            {
                if (cmd[Key].Length > 0)
                {
                    cmd.Reply.Error("ERR When using MIGRATE KEYS option, the key argument must be set to the empty string"u8);
                    return false;
                }

                (firstKey, endOfKeys) = (options.Position, cmd.Count);
                break;
            }
            else
            {
                cmd.ReplySyntaxError();
                return false;
            }
        }

        if (Math.Max(cmd[Host].Length, Math.Max(user > 0 ? cmd[user].Length : 0, password > 0 ? cmd[password].Length : 0)) > ArgumentReading.TextBytesMax)
        {
            cmd.Reply.Error($"ERR the host, user or password has more than {ArgumentReading.TextBytesMax} bytes");
            return false;
        }

        if (!cmd.TryIntegerOrReply(Timeout, out long timeoutMs) || !cmd.TryIntegerOrReply(TargetDatabase, out long database)) return false;
        result = new MigrateOptions(copies, replaces, firstKey, endOfKeys, user, password, database, timeoutMs > 0 ? timeoutMs : DefaultTimeoutMs);
        return true;
    }

    /// <summary>The target that the arguments name.</summary>
    internal MigrationTarget TargetOf(scoped in CommandContext cmd) => new(
        System.Text.Encoding.UTF8.GetString(cmd[Host]),
        PortOf(cmd[Port]),
        User > 0 ? cmd[User].ToArray() : null,
        Password > 0 ? cmd[Password].ToArray() : null,
        Database,
        TimeSpan.FromMilliseconds(Math.Min(TimeoutMs, int.MaxValue)));

    /// <summary>
    /// Whether a request names its key in front, not behind KEYS. With both it has none: it is refused. For the command's row; the command's name
    /// is at <paramref name="start"/>.
    /// </summary>
    internal static bool NamesOneKey(scoped in CommandContext cmd, int start)
    {
        int keyword = FindKeyword(cmd, start);
        return keyword < 0 || keyword == cmd.Count - 1;
    }

    /// <summary>Finds KEYS where keys follow it, as in Redis; -1: there is none.</summary>
    internal static int FindKeys(scoped in CommandContext cmd, int start)
    {
        if (NamesOneKey(cmd, start)) return -1;
        return cmd[start + Key].Length == 0 ? FindKeyword(cmd, start) : cmd.Count - 1; // with a key in front: no keys fit
    }

    private static int FindKeyword(scoped in CommandContext cmd, int start)
    {
        for (int i = start + FirstOption; i < cmd.Count; i++)
        {
            if (cmd.Is(i, "KEYS"u8)) return i;
            if (cmd.Is(i, "AUTH"u8)) i++;
            else if (cmd.Is(i, "AUTH2"u8)) i += 2;
        }

        return -1;
    }

    // As in Redis, by the digits in front: no number is port 0, to which nothing connects, and larger numbers lose their upper bits.
    private static int PortOf(ReadOnlySpan<byte> text)
    {
        bool isNegative = text is [(byte)'-', ..];
        int digits = 0;
        ReadOnlySpan<byte> number = isNegative ? text[1..] : text;
        while (digits < number.Length && char.IsAsciiDigit((char)number[digits])) digits++;
        if (!RespNumber.TryParseInt64(number[..digits].TrimStart((byte)'0'), out long port)) return 0;
        return isNegative ? -1 : (int)(port & ushort.MaxValue);
    }
}
