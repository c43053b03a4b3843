using System.Globalization;

namespace RedKite.ClusterChecker;

internal enum Kind
{
    /// <summary>A value replaces the one before; every value is written once.</summary>
    Set,

    /// <summary>The value, or that there is none.</summary>
    Get,

    /// <summary>An element is put at the end of a list; every element is put there by one operation.</summary>
    Push,

    /// <summary>All elements.</summary>
    Range,
}

internal enum Outcome
{
    /// <summary>It was acknowledged.</summary>
    Ok,

    /// <summary>The server that was asked has said that it was not executed, and nobody else was asked.</summary>
    Failed,

    /// <summary>It may be executed, or not, or later.</summary>
    Unknown,
}

/// <summary>What a client did, on a clock that all clients have in common.</summary>
/// <param name="Client">Who.</param>
/// <param name="Key">The key.</param>
/// <param name="Kind">What.</param>
/// <param name="Value">What was written or read, a list's elements with commas between them; null: there was no key.</param>
/// <param name="Begin">When the request was sent.</param>
/// <param name="End">When the reply came, or the client gave up.</param>
/// <param name="Outcome">What came of it.</param>
/// <param name="Node">Who has answered; null: the client does not know.</param>
/// <param name="Epoch">By which epoch of its slots the node has answered, as it said before and after it; null: not known.</param>
internal sealed record Operation(string Client, string Key, Kind Kind, string? Value, long Begin, long End, Outcome Outcome, string? Node, long? Epoch)
{
    /// <summary>The elements of a list that was read.</summary>
    internal string[] Elements => Value is null ? [] : Value.Split(',');
}

/// <summary>Slots of a node at the end; a replica has those of its primary.</summary>
internal sealed record NodeSlots(string Node, bool IsPrimary, int First, int Last);

/// <summary>A key that a node has at the end.</summary>
internal sealed record HeldKey(string Node, string Key);

/// <summary>
/// A history: a line for each operation, and lines for what nodes have at the end, with tabs between the fields and "-" for what is not known or not there:
/// <code>
/// op client key set|get|push|range value begin end ok|failed|unknown node epoch error
/// slots node primary|replica first last
/// held node key
/// </code>
/// </summary>
internal sealed class History
{
    internal List<Operation> Operations { get; } = [];

    internal List<NodeSlots> Slots { get; } = [];

    internal List<HeldKey> Held { get; } = [];

    /// <summary>How many writes were acknowledged.</summary>
    internal int Acknowledged => Operations.Count(static operation => operation is { Kind: Kind.Set or Kind.Push, Outcome: Outcome.Ok });

    internal string Summary =>
        $"{Operations.Count} operations of {Operations.Select(static operation => operation.Client).Distinct().Count()} clients on {Operations.Select(static operation => operation.Key).Distinct().Count()} keys, "
        + $"{Acknowledged} acknowledged writes, {Operations.Count(static operation => operation is { Kind: Kind.Get or Kind.Range, Outcome: Outcome.Ok })} reads, "
        + $"{Operations.Count(static operation => operation.Outcome == Outcome.Unknown)} of unknown outcome, {Operations.Where(static operation => operation.Epoch is not null).Select(static operation => (Slot.Of(operation.Key), operation.Epoch)).Distinct().Count()} owners of slots, {Held.Count} keys on nodes";

    /// <exception cref="FormatException">A line is none.</exception>
    internal static History Read(IEnumerable<string> lines)
    {
        var history = new History();
        foreach (string line in lines.Where(static line => line.Length > 0)) history.Add(line);
        return history;
    }

    private void Add(string line)
    {
        string[] fields = line.Split('\t');
        try
        {
            switch (fields)
            {
                case ["op", { } client, { } key, { } kind, { } value, { } begin, { } end, { } outcome, { } node, { } epoch, _]:
                    var operation = new Operation(client, key, Named<Kind>(kind), Known(value), Number(begin), Number(end), Named<Outcome>(outcome), Known(node), Known(epoch) is null ? null : Number(epoch));
                    if (operation.End < operation.Begin) throw new FormatException("it ends before it begins");
                    Operations.Add(operation);
                    break;
                case ["slots", { } node, "primary" or "replica", { } first, { } last]:
                    Slots.Add(new NodeSlots(node, fields[2] == "primary", (int)Number(first), (int)Number(last)));
                    break;
                case ["held", { } node, { } key]:
                    Held.Add(new HeldKey(node, key));
                    break;
                default:
                    throw new FormatException("it is not known");
            }
        }
        catch (Exception failure) when (failure is FormatException or ArgumentException or OverflowException)
        {
            throw new FormatException($"not a line of a history: {line}: {failure.Message}", failure);
        }
    }

    private static T Named<T>(string name)
        where T : struct, Enum => Enum.Parse<T>(name, ignoreCase: true);

    private static long Number(string text) => long.Parse(text, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture);

    private static string? Known(string text) => text == "-" ? null : text;
}
