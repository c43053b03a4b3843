using RedKite.Server.Config;

namespace RedKite.Server.Diagnostics.Actions;

/// <summary>
/// Slows background work while an event loop is saturated: above `slow-background-work-above` percent for ten seconds, the survey of keys
/// takes a tenth of its share of a core. It ends after ten seconds below that. On the diagnostics thread.
/// </summary>
internal sealed class BackgroundSlowdown(Settings settings, ActionLog actions)
{
    internal const int Divisor = 10;

    private const int Seconds = 10;

    private volatile bool _isOn;
    private int _seconds; // that the other state has lasted

    /// <summary>Whether background work takes a tenth of its share.</summary>
    internal bool IsOn => _isOn;

    internal void Look(double busiestLoopPercent)
    {
        int percent = settings.SlowBackgroundWorkAbovePercent;
        bool isBusy = percent > 0 && busiestLoopPercent > percent;
        if (isBusy == _isOn)
        {
            _seconds = 0;
            return;
        }

        if (++_seconds < Seconds && percent > 0) return;
        _seconds = 0;
        _isOn = isBusy;
        if (isBusy) actions.Note(ActionTable.SlowBackgroundWork, string.Create(System.Globalization.CultureInfo.InvariantCulture, $"a loop was {busiestLoopPercent:0} % busy, so the survey of keys takes a tenth of its share"));
    }
}
