using Etcdserverpb;
using Grpc.Core;

namespace RedKite.Server.Cluster.Store;

/// <summary>
/// A stream of changes from one member. One that says nothing is asked for a sign of life, as a connection to a member that is frozen, or that the network no longer
/// reaches, looks like one without changes; a member without a leader, which would know of none, ends the stream by itself. For one caller at a time.
/// </summary>
internal sealed class EtcdWatch : IDisposable
{
    private readonly AsyncDuplexStreamingCall<WatchRequest, WatchResponse> _call;
    private readonly EtcdOptions _options;
    private readonly CancellationToken _ending;
    private WatchResponse? _first;
    private Task<bool>? _reading;

    private EtcdWatch(EtcdEndpoint endpoint, CallOptions call, EtcdOptions options, CancellationToken ending)
    {
        Address = endpoint.Address;
        _options = options;
        _ending = ending;
        Metadata headers = [.. call.Headers ?? [], new Metadata.Entry("hasleader", "true")];
        _call = endpoint.Watches.Watch(new CallOptions(headers, deadline: null, ending));
    }

    internal string Address { get; }

    /// <summary>Begins it. When this returns, the member has taken it.</summary>
    /// <param name="call">The call's time counts until then.</param>
    /// <param name="ending">What ends it.</param>
    internal static async Task<EtcdWatch> Begin(EtcdEndpoint endpoint, WatchCreateRequest create, CallOptions call, EtcdOptions options, CancellationToken ending)
    {
        var watch = new EtcdWatch(endpoint, call, options, ending);
        try
        {
            TimeSpan time = call.Deadline!.Value - DateTime.UtcNow;
            await watch._call.RequestStream.WriteAsync(new WatchRequest { CreateRequest = create }, ending).WaitAsync(time, ending);
            watch._first = await watch.Receive(time);
            return watch;
        }
        catch (TimeoutException)
        {
            watch.Dispose();
            throw new RpcException(new Status(StatusCode.DeadlineExceeded, ""));
        }
        catch
        {
            watch.Dispose();
            throw;
        }
    }

    /// <summary>The next response, which may have no events.</summary>
    /// <exception cref="StoreException">The member has forgotten the changes, or has ended the watch for another reason.</exception>
    internal async Task<WatchResponse> Next()
    {
        if (_first is { } first)
        {
            _first = null;
            return first;
        }

        try
        {
            return await Receive(_options.WatchSilenceTime);
        }
        catch (TimeoutException)
        {
        }

        try
        {
            await _call.RequestStream.WriteAsync(new WatchRequest { ProgressRequest = new WatchProgressRequest() }, _ending).WaitAsync(_options.AttemptTime, _ending);
            return await Receive(_options.AttemptTime);
        }
        catch (TimeoutException)
        {
            throw new RpcException(new Status(StatusCode.DeadlineExceeded, ""));
        }
    }

    public void Dispose()
    {
        _call.Dispose();

        // Reading fails now, and the failure is ignored.
        _ = _reading?.ContinueWith(static reading => _ = reading.Exception, CancellationToken.None, TaskContinuationOptions.OnlyOnFaulted | TaskContinuationOptions.ExecuteSynchronously, TaskScheduler.Default);
    }

    private async Task<WatchResponse> Receive(TimeSpan time)
    {
        _reading ??= _call.ResponseStream.MoveNext(_ending);
        if (!_reading.IsCompleted) await _reading.WaitAsync(time, _ending);
        Task<bool> reading = _reading;
        _reading = null;
        if (!await reading) throw new RpcException(new Status(StatusCode.Unavailable, "the watch has ended"));

        WatchResponse response = _call.ResponseStream.Current;
        if (!response.Canceled) return response;
        if (response.CompactRevision > 0) throw new StoreException($"etcd at {Address}: the changes before revision {response.CompactRevision} are forgotten.");
        throw new RpcException(new Status(StatusCode.Unknown, response.CancelReason));
    }
}
