using System.Globalization;

namespace RedKite.Host.Clusters;

/// <summary>The progress of a plan: a bar that is rewritten on a terminal, otherwise a line for each step.</summary>
internal sealed class PlanProgress(TextWriter output, bool isTerminal, bool isQuiet)
{
    private const int BarWidth = 20;
    private const int TerminalMs = 100;

    private int _done;
    private int _total = 1;
    private string _text = "";
    private int _shownLength;
    private long _shownMs;

    internal void Begin(int steps) => _total = Math.Max(1, steps);

    /// <summary>Begins a step.</summary>
    internal void Step(string text)
    {
        _text = text;
        if (isQuiet) return;
        if (isTerminal) Draw("");
        else output.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{_done + 1} of {_total}: {text}"));
    }

    /// <summary>How far the step is; on a terminal only.</summary>
    internal void Note(string text)
    {
        if (isQuiet || !isTerminal || Environment.TickCount64 - _shownMs < TerminalMs) return;
        Draw(text);
    }

    internal void StepDone() => _done++;

    /// <summary>Ends the bar, so that a line can follow.</summary>
    internal void End()
    {
        if (_shownLength > 0) output.Write("\r" + new string(' ', _shownLength) + "\r");
        _shownLength = 0;
    }

    private void Draw(string note)
    {
        _shownMs = Environment.TickCount64;
        int filled = BarWidth * _done / _total;
        string line = string.Create(CultureInfo.InvariantCulture, $"[{new string('#', filled)}{new string('.', BarWidth - filled)}] {_done + 1} of {_total}: {_text}{(note.Length > 0 ? ": " + note : "")}");
        int width = WidthOfTerminal();
        if (line.Length > width) line = line[..width];
        output.Write("\r" + line.PadRight(_shownLength));
        _shownLength = line.Length;
    }

    private static int WidthOfTerminal()
    {
        try
        {
            return Math.Max(20, Console.WindowWidth - 1);
        }
        catch (IOException)
        {
            return 79;
        }
    }
}
