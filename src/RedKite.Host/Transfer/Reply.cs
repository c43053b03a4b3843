using System.Text;

namespace RedKite.Host.Transfer;

/// <summary>A whole reply of RESP2.</summary>
internal sealed class Reply
{
    /// <summary>The reply's first character.</summary>
    internal required char Marker { get; init; }

    /// <summary>The text of a line or a string; null: a null, or an array.</summary>
    internal byte[]? Bytes { get; init; }

    internal long Number { get; init; }

    /// <summary>The elements of an array; null: no array.</summary>
    internal Reply[]? Items { get; init; }

    internal bool IsError => Marker == '-';

    internal bool IsNull => Bytes is null && Items is null;

    internal string Text => Bytes is null ? "" : Encoding.UTF8.GetString(Bytes);

    /// <summary>The size of what it holds.</summary>
    internal long Size => (Bytes?.Length ?? 0) + (Items?.Sum(item => item.Size) ?? 0);

    internal Reply[] Array => Items ?? [];

    /// <summary>The value of a name in an array of alternating names and values; null: it is missing.</summary>
    internal Reply? this[string name]
    {
        get
        {
            for (int i = 0; i + 1 < Array.Length; i += 2)
            {
                if (Array[i].Text == name) return Array[i + 1];
            }

            return null;
        }
    }
}
