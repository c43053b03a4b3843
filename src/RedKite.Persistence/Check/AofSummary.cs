using System.Globalization;
using RedKite.Persistence.Aof;
using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;

namespace RedKite.Persistence.Check;

/// <summary>
/// Verifies a file of commands, which may begin with RDB data, and says what it holds and where what is whole ends. The commands are not
/// executed.
/// </summary>
internal sealed class AofSummary
{
    /// <summary>The RDB data that the file begins with.</summary>
    internal RdbSummary? Rdb { get; private set; }

    internal long Commands { get; private set; }

    /// <summary>The time of the first and of the last annotation, in seconds since 1970; 0: none.</summary>
    internal long FirstTimestamp { get; private set; }

    internal long LastTimestamp { get; private set; }

    internal long FileBytes { get; private set; }

    /// <summary>The position behind the last whole unit: the file can be cut here.</summary>
    internal long UnitEnd { get; private set; } = -1;

    /// <summary>Why the file is not whole; null: it is.</summary>
    internal string? Damage { get; private set; }

    /// <summary>The position at which the first command after the requested time begins; -1: none.</summary>
    internal long UntilOffset { get; private set; } = -1;

    /// <summary>Verifies a file.</summary>
    /// <param name="file">The file.</param>
    /// <param name="options">How to read RDB data.</param>
    /// <param name="nowMs">The time by which keys count as expired.</param>
    /// <param name="untilSeconds">The time whose place is sought; 0: none.</param>
    /// <exception cref="RdbFileException">The RDB data is damaged: the file cannot be cut.</exception>
    internal static AofSummary Of(IOpenFile file, RdbReadOptions options, long nowMs, long untilSeconds = 0)
    {
        var summary = new AofSummary { FileBytes = file.Length };
        if (AofReader.BeginsWithRdb(file)) summary.Rdb = RdbSummary.Of(file, options, nowMs);
        using var reader = new AofReader(file, summary.Rdb?.End ?? 0);
        try
        {
            summary.Read(reader, untilSeconds);
        }
        catch (AofException failure)
        {
            summary.Damage = failure.Message;
        }

        if (summary.UnitEnd < 0) summary.UnitEnd = reader.UnitEnd;
        return summary;
    }

    private void Read(AofReader reader, long untilSeconds)
    {
        while (true)
        {
            long strayUnitEnd = reader.UnitEnd;
            switch (reader.Read())
            {
                case AofRead.Command when reader.Stray is { } stray && Damage is null:
                    Damage = string.Create(CultureInfo.InvariantCulture, $"{stray} at byte {reader.Start}: a server ignores it; what was before it may be missing");
                    UnitEnd = strayUnitEnd;
                    return;
                case AofRead.Command:
                    Commands++;
                    break;
                case AofRead.Timestamp:
                    if (FirstTimestamp == 0) FirstTimestamp = reader.TimestampSeconds;
                    LastTimestamp = reader.TimestampSeconds;
                    if (untilSeconds > 0 && UntilOffset < 0 && reader.TimestampSeconds > untilSeconds) UntilOffset = reader.InUnit ? reader.UnitEnd : reader.Start;
                    break;
                case AofRead.Truncated:
                    Damage = reader.InUnit ? "the file ends within a transaction" : "the file ends within a command";
                    return;
                default:
                    return;
            }
        }
    }
}
