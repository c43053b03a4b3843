using System.Globalization;
using System.Text;

namespace RedKite.TestSupport;

/// <summary>
/// A typed reply. The marker is the first byte of its frame, so that a simple string and a bulk string with the same text
/// stay different; three markers outside of the protocol mean that no reply arrived.
/// </summary>
public sealed class RespValue : IEquatable<RespValue>
{
    private const char ClosedMarker = '\u0001';
    private const char TimeoutMarker = '\u0002';
    private const char MalformedMarker = '\u0003';

    private RespValue(char marker, byte[]? payload, IReadOnlyList<RespValue>? items)
    {
        Marker = marker;
        Payload = payload;
        Items = items ?? [];
        IsNull = payload is null && items is null;
    }

    /// <summary>The connection was closed instead of a reply.</summary>
    public static RespValue Closed { get; } = new(ClosedMarker, [], null);

    /// <summary>Nothing arrived within the timeout.</summary>
    public static RespValue Timeout { get; } = new(TimeoutMarker, [], null);

    public char Marker { get; }

    /// <summary>The bytes of a scalar; null for aggregates and nulls.</summary>
    public byte[]? Payload { get; }

    /// <summary>Elements; a map has alternating keys and values.</summary>
    public IReadOnlyList<RespValue> Items { get; }

    /// <summary>The null of RESP3, or the null bulk string or null array of RESP2.</summary>
    public bool IsNull { get; }

    public bool IsClosed => Marker == ClosedMarker;

    public bool IsTimeout => Marker == TimeoutMarker;

    public bool IsError => Marker is '-' or '!';

    public bool IsAggregate => Marker is '*' or '%' or '~' or '>';

    public bool IsInteger => Marker == ':';

    public bool IsString => Marker is '$' or '+' or '=' && !IsNull;

    /// <summary>The payload as Latin-1, which preserves every byte.</summary>
    public string Text => Payload is null ? "" : Encoding.Latin1.GetString(Payload);

    public long Number => long.Parse(Text, CultureInfo.InvariantCulture);

    /// <summary>The value of a key in a map, or in the flat array that represents a map in RESP2; null if it is missing.</summary>
    public RespValue? this[string key]
    {
        get
        {
            for (int i = 0; i + 1 < Items.Count; i += 2)
            {
                if (Items[i].Text == key) return Items[i + 1];
            }

            return null;
        }
    }

    public static RespValue Scalar(char marker, byte[] payload) => new(marker, payload, null);

    public static RespValue Null(char marker) => new(marker, null, null);

    public static RespValue Aggregate(char marker, IReadOnlyList<RespValue> items) => new(marker, null, items);

    /// <summary>The input is not RESP.</summary>
    public static RespValue Malformed(string description) => new(MalformedMarker, Encoding.Latin1.GetBytes(description), null);

    public bool Equals(RespValue? other)
    {
        if (other is null || Marker != other.Marker || IsNull != other.IsNull || Items.Count != other.Items.Count) return false;
        if (Payload is not null && !Payload.AsSpan().SequenceEqual(other.Payload)) return false;
        return Items.SequenceEqual(other.Items);
    }

    public override bool Equals(object? obj) => Equals(obj as RespValue);

    public override int GetHashCode() => HashCode.Combine(Marker, Items.Count, Payload?.Length);

    /// <summary>The value with its marker, on one line: <c>+OK</c>, <c>$"a b"</c>, <c>*[:1 $x]</c>.</summary>
    public override string ToString() => Marker switch
    {
        ClosedMarker => "(connection closed)",
        TimeoutMarker => "(no reply)",
        MalformedMarker => $"(not RESP: {Text})",
        _ when IsNull => $"{Marker}(null)",
        _ when IsAggregate => $"{Marker}[{string.Join(' ', Items)}]",
        '+' or '-' or ':' or ',' or '#' or '(' => Marker + CommandLine.Escape(Payload),
        _ => Marker + CommandLine.Format(Payload),
    };
}
