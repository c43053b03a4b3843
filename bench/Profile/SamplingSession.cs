using System.Diagnostics.Tracing;
using Microsoft.Diagnostics.NETCore.Client;
using RedKite.Figures;

namespace RedKite.Profile;

/// <summary>
/// The runtime's sampling profiler in a running server, through its diagnostics port: each thread's managed stack every
/// millisecond, running or not. The method names follow at the end of the session.
/// </summary>
internal sealed class SamplingSession
{
    private const string SampleProvider = "Microsoft-DotNETCore-SampleProfiler";
    private const string RuntimeProvider = "Microsoft-Windows-DotNETRuntime";
    private const long LoaderAndJitKeywords = 0x8 | 0x10;
    private const int BufferMegabytes = 256;
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(60);

    private readonly EventPipeSession _session;
    private readonly Task _copying;

    private SamplingSession(EventPipeSession session, Task copying)
    {
        _session = session;
        _copying = copying;
    }

    /// <exception cref="CannotMeasureException">The server's diagnostics port does not answer.</exception>
    internal static SamplingSession Start(int processId, string file)
    {
        EventPipeProvider[] providers =
        [
            new(SampleProvider, EventLevel.Informational),
            new(RuntimeProvider, EventLevel.Informational, LoaderAndJitKeywords),
        ];
        try
        {
            using var limit = new CancellationTokenSource(Limit);
            EventPipeSession session = new DiagnosticsClient(processId)
                .StartEventPipeSessionAsync(providers, requestRundown: true, BufferMegabytes, limit.Token).GetAwaiter().GetResult();
            return new SamplingSession(session, CopyAsync(session.EventStream, file));
        }
        catch (Exception failure) when (failure is DiagnosticsClientException or IOException or TimeoutException or OperationCanceledException)
        {
            throw new CannotMeasureException($"the server's diagnostics port does not answer: {failure.Message}");
        }
    }

    /// <summary>Ends the session and completes the file.</summary>
    /// <exception cref="CannotMeasureException">The server has exited, or takes too long.</exception>
    internal void Stop()
    {
        try
        {
            using var limit = new CancellationTokenSource(Limit);
            _session.StopAsync(limit.Token).GetAwaiter().GetResult();
            _copying.WaitAsync(limit.Token).GetAwaiter().GetResult();
        }
        catch (Exception failure) when (failure is DiagnosticsClientException or IOException or TimeoutException or OperationCanceledException)
        {
            throw new CannotMeasureException($"the profile did not end properly: {failure.Message}");
        }
        finally
        {
            _session.Dispose();
        }
    }

    private static async Task CopyAsync(Stream events, string file)
    {
        await using FileStream output = File.Create(file);
        await events.CopyToAsync(output);
    }
}
