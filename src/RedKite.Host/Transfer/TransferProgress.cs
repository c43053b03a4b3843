using System.Diagnostics;
using System.Globalization;
using static RedKite.Server.Logging.QuantityText;

namespace RedKite.Host.Transfer;

/// <summary>The progress of a transfer: a line that is rewritten on a terminal, otherwise a line now and then.</summary>
internal sealed class TransferProgress(TextWriter output, bool isTerminal)
{
    private const int TerminalMs = 200;
    private const int LinesMs = 10_000;

    // Before, connecting and the first keys say little of the rest.
    private const double EstimateAfterSeconds = 3;
    private const double Mebibyte = 1024 * 1024;

    private readonly Stopwatch _clock = Stopwatch.StartNew();
    private long _shownMs;
    private int _shownLength;

    /// <summary>How many keys there are to transfer; about, because they come and go. 0: unknown.</summary>
    internal long KeysTotal { get; set; }

    internal double Seconds => _clock.Elapsed.TotalSeconds;

    /// <summary>Shows the progress, if it is time again.</summary>
    internal void Show(long keys, long bytes, string place)
    {
        long now = _clock.ElapsedMilliseconds;
        if (now - _shownMs < (isTerminal ? TerminalMs : LinesMs)) return;
        _shownMs = now;
        double seconds = Math.Max(Seconds, 0.001);
        double share = KeysTotal > 0 ? Math.Min((double)keys / KeysTotal, 1) : 0;
        string left = share > 0 && seconds >= EstimateAfterSeconds ? string.Create(CultureInfo.InvariantCulture, $", {seconds / share * (1 - share):0} s left") : "";
        string of = KeysTotal > 0 ? string.Create(CultureInfo.InvariantCulture, $" of about {KeysTotal} ({share:P0})") : "";
        string line = string.Create(CultureInfo.InvariantCulture, $"{place}{Times(keys, "key")}{of}, {bytes / Mebibyte:0.0} MiB, {bytes / Mebibyte / seconds:0.0} MiB/s{left}");
        if (!isTerminal)
        {
            output.WriteLine(line);
            return;
        }

        output.Write("\r" + line.PadRight(_shownLength));
        _shownLength = line.Length;
    }

    /// <summary>Writes a line of its own.</summary>
    internal void Line(string text)
    {
        if (_shownLength > 0) output.Write("\r" + new string(' ', _shownLength) + "\r");
        _shownLength = 0;
        output.WriteLine(text);
    }
}
