using System.Diagnostics;

namespace RedKite.TestSupport;

/// <summary>
/// For tests of durations. On a busy machine, or one that its host suspends, threads wait for seconds: a correct server then
/// looks slow, or a short pause ends before the test observes it. Such a test is an attempt: if it fails on a quiet machine,
/// it has failed; if it fails while threads were delayed, it is repeated. The assertions themselves stay strict.
/// </summary>
public static class QuietMachine
{
    // A thread that wakes up this late was delayed by the machine: on an idle one it is late by a fraction of a millisecond.
    private const int LateMs = 20;
    private const int SleepMs = 2;
    private const int AttemptsMax = 30;
    private const int AttemptsMin = 3; // however long they take
    private static readonly TimeSpan TimeMax = TimeSpan.FromSeconds(90);

    public static void Try(Action attempt) => TryAsync(() =>
    {
        attempt();
        return Task.CompletedTask;
    }).GetAwaiter().GetResult();

    public static async Task TryAsync(Func<Task> attempt)
    {
        long start = Stopwatch.GetTimestamp();
        for (int made = 1; ; made++)
        {
            using var watch = new Watch();
            try
            {
                await attempt().ConfigureAwait(false);
                return;
            }
            catch (Exception) when (watch.WasDelayed && (made < AttemptsMin || (made < AttemptsMax && Stopwatch.GetElapsedTime(start) < TimeMax)))
            {
                // Inconclusive: try again.
            }
        }
    }

    // Repeatedly sleeps for a moment in its own thread and checks the duration.
    private sealed class Watch : IDisposable
    {
        private readonly Thread _thread;
        private volatile bool _ended;
        private volatile bool _wasLate;
        private long _wokenAt = Stopwatch.GetTimestamp();

        internal Watch()
        {
            _thread = new Thread(Look) { IsBackground = true, Name = "quiet-machine" };
            _thread.Start();
        }

        // The failure may have occurred before the watch itself runs again.
        internal bool WasDelayed => _wasLate || Stopwatch.GetElapsedTime(Interlocked.Read(ref _wokenAt)).TotalMilliseconds > SleepMs + LateMs;

        public void Dispose()
        {
            _ended = true;
            _thread.Join();
        }

        private void Look()
        {
            while (!_ended)
            {
                Thread.Sleep(SleepMs);
                long now = Stopwatch.GetTimestamp();
                if (Stopwatch.GetElapsedTime(Interlocked.Exchange(ref _wokenAt, now), now).TotalMilliseconds > SleepMs + LateMs) _wasLate = true;
            }
        }
    }
}
