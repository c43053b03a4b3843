using System.Globalization;
using System.Text;
using RedKite.Persistence.Types;
using RedKite.Store.Keyspace;

namespace RedKite.Persistence.Rdb;

/// <summary>The family of servers that wrote a file or a dump. Beyond version 11 both use some bytes with different meanings.</summary>
internal enum RdbFamily : byte
{
    Redis,
    Valkey,
}

/// <summary>Maps the type bytes of both families to types, and names them.</summary>
internal static class RdbTypes
{
    private const int ShownBytesMax = 64;

    private const int SelfContainedTemplate = 31;

    /// <summary>The lowest version that is Valkey's own.</summary>
    internal const int ValkeyVersionMin = 80;

    /// <summary>The type that a byte of a file or dump means; false if it is not known.</summary>
    internal static bool TryGet(int code, RdbFamily family, out RdbType type)
    {
        type = (RdbType)code;
        if (family == RdbFamily.Valkey && code >= (int)RdbType.HashWithExpiriesDraft)
        {
            type = RdbType.HashWithTimes;
            return code == (int)RdbType.HashWithExpiriesDraft;
        }

        // A template's hash in a dump has its own fields, so it is like any other.
        if (code == SelfContainedTemplate) type = RdbType.Hash;
        return type != RdbType.HashWithTimes && Enum.IsDefined(type);
    }

    /// <summary>Why a byte of a file is no type of a value that can be read.</summary>
    internal static string Refusal(int code, RdbFamily family) => (code, family) switch
    {
        (23, RdbFamily.Valkey) => "a hash of paths of Valkey, a type that RedKite does not have",
        (28, RdbFamily.Redis) => "an array of Redis, in a form that is not documented",
        (29, RdbFamily.Redis) => "a packed hash with the fields of a template, in a form that is not documented",
        (33, RdbFamily.Redis) => "a rate limiter (GCRA) of Redis, a type that RedKite does not have",
        _ => string.Create(CultureInfo.InvariantCulture, $"unknown type {code}"),
    };

    /// <summary>The byte of a type in files and payloads: Valkey's is one that Redis uses otherwise.</summary>
    internal static byte CodeOf(RdbType type) => (byte)(type == RdbType.HashWithTimes ? RdbType.HashWithExpiriesDraft : type);

    /// <summary>The name of a type as TYPE replies it. The forms with a template are those of hashes in files.</summary>
    internal static string NameOf(RdbType type) =>
        type is RdbType.ModuleDraft or RdbType.Module ? "module" : Encoding.ASCII.GetString((PersistedTypes.OfForm(type) ?? PersistedTypes.Of(DataType.Hash)).Stored.Name);

    /// <summary>A key or another text for a message: printable, in quotes, and not too long.</summary>
    internal static string Shown(ReadOnlySpan<byte> text)
    {
        var shown = new StringBuilder("'");
        foreach (byte b in text[..Math.Min(text.Length, ShownBytesMax)])
        {
            if (b is >= 0x20 and < 0x7F and not (byte)'\'' and not (byte)'\\') shown.Append((char)b);
            else shown.Append(CultureInfo.InvariantCulture, $"\\x{b:x2}");
        }

        return shown.Append(text.Length > ShownBytesMax ? "'..." : "'").ToString();
    }
}
