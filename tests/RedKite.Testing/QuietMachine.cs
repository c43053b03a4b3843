using System.Diagnostics;

namespace RedKite.Testing;

/// <summary>
/// For tests about lengths of time. A machine that is busy, or that its host stops for a while, keeps threads waiting for
/// seconds, and then a server that is right looks slow, or a short pause is over before it was looked at. Such a test is
/// an attempt: one that fails on a quiet machine has failed, one that fails while threads were kept waiting says
/// nothing and is made anew. What is asserted stays as strict as it is.
/// </summary>
public static class QuietMachine
{
    // A thread that was woken so late has waited for the machine: on one that is idle it is late by a fraction of a millisecond.
    private const int LateMs = 20;
    private const int SleepMs = 2;
    private const int AttemptsMax = 30;
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
            catch (Exception) when (watch.WasKeptWaiting && made < AttemptsMax && Stopwatch.GetElapsedTime(start) < TimeMax)
            {
                // Nothing is known: it is tried again.
            }
        }
    }

    // Sleeps for moments and looks how long they were, in a thread of its own.
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

        // What failed may have done so before the watch itself runs again.
        internal bool WasKeptWaiting => _wasLate || Stopwatch.GetElapsedTime(Interlocked.Read(ref _wokenAt)).TotalMilliseconds > SleepMs + LateMs;

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
