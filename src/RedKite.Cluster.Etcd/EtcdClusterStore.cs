using System.Runtime.CompilerServices;
using Etcdserverpb;
using Google.Protobuf;
using Grpc.Core;
using Mvccpb;

namespace RedKite.Server.Cluster.Store;

/// <summary>
/// The store in etcd, of version 3. A call goes to the member that answered last, and to the next one if that is not reached or does not answer in time; a transaction
/// only if it cannot have been executed, since its conditions would be wrong the second time. The library has the protocol; its client is not used:
/// it verifies certificates against a name of its own, and repeats calls by a policy that does not know which may be repeated. Thread-safe.
/// </summary>
internal sealed class EtcdClusterStore : IClusterStore
{
    private readonly EtcdOptions _options;
    private readonly EtcdEndpoint[] _endpoints;
    private readonly CancellationTokenSource _closing = new();
    private volatile int _current;
    private volatile bool _hasAnswered;
    private volatile string? _token;

    /// <exception cref="StoreException">A file of certificates cannot be used.</exception>
    internal EtcdClusterStore(EtcdOptions options)
    {
        _options = options;
        _endpoints = EtcdEndpoint.All(options);

        // The nodes of a cluster, which name its members in the same order, share them out.
        _current = Random.Shared.Next(_endpoints.Length);
    }

    /// <summary>The member that is asked first.</summary>
    internal string Current => _endpoints[_current].Address;

    public async Task<StoreSnapshot> Read(string keysFrom, CancellationToken cancellation)
    {
        (ByteString first, ByteString end) = Range(keysFrom);
        RangeResponse response = await Call((endpoint, options) => endpoint.Keys.RangeAsync(new RangeRequest { Key = first, RangeEnd = end }, options).ResponseAsync, canRepeat: true, cancellation);
        return new StoreSnapshot(response.Header.Revision, [.. response.Kvs.Select(EntryOf)]);
    }

    public async Task<long?> TryCommit(IReadOnlyList<StoreCondition> conditions, IReadOnlyList<StorePut> puts, CancellationToken cancellation)
    {
        StoreLimits.Check(conditions, puts);
        var request = new TxnRequest();
        request.Compare.AddRange(conditions.Select(condition => new Compare { Key = KeyOf(condition.Key), Target = Compare.Types.CompareTarget.Mod, Result = Compare.Types.CompareResult.Equal, ModRevision = condition.Revision }));
        request.Success.AddRange(puts.Select(put => put.Value is { } value
            ? new RequestOp { RequestPut = new PutRequest { Key = KeyOf(put.Key), Value = ByteString.CopyFrom(value.Span), Lease = put.Lease } }
            : new RequestOp { RequestDeleteRange = new DeleteRangeRequest { Key = KeyOf(put.Key) } }));
        TxnResponse response = await Call((endpoint, options) => endpoint.Keys.TxnAsync(request, options).ResponseAsync, canRepeat: false, cancellation);
        return response.Succeeded ? response.Header.Revision : null;
    }

    public async IAsyncEnumerable<StoreEvent> Watch(string keysFrom, long behindRevision, [EnumeratorCancellation] CancellationToken cancellation)
    {
        (ByteString first, ByteString end) = Range(keysFrom);
        var create = new WatchCreateRequest { Key = first, RangeEnd = end, StartRevision = behindRevision + 1, ProgressNotify = true, Fragment = true };
        using var ending = CancellationTokenSource.CreateLinkedTokenSource(cancellation, _closing.Token);
        using EtcdWatch watch = await Call((endpoint, options) => EtcdWatch.Begin(endpoint, create, options, _options, ending.Token), canRepeat: true, cancellation);
        while (true)
        {
            WatchResponse response;
            try
            {
                response = await watch.Next();
            }
            catch (Exception failure) when (failure is RpcException or OperationCanceledException)
            {
                cancellation.ThrowIfCancellationRequested();
                throw FailureOf(watch.Address, failure);
            }

            foreach (Event change in response.Events)
            {
                cancellation.ThrowIfCancellationRequested();
                StoreEntry entry = EntryOf(change.Kv);
                yield return new StoreEvent(entry.Key, change.Type == Event.Types.EventType.Put ? entry : null, entry.Revision);
            }
        }
    }

    public async Task<(long Lease, TimeSpan Time)> Grant(TimeSpan time, CancellationToken cancellation)
    {
        if (time <= TimeSpan.Zero) throw new StoreException("A lease has no time.");

        // One that was granted twice, because an answer was lost, ends by itself.
        var request = new LeaseGrantRequest { TTL = (long)Math.Ceiling(time.TotalSeconds) };
        LeaseGrantResponse response = await Call((endpoint, options) => endpoint.Leases.LeaseGrantAsync(request, options).ResponseAsync, canRepeat: true, cancellation);
        return (response.ID, TimeSpan.FromSeconds(response.TTL));
    }

    public async Task<TimeSpan?> Renew(long lease, CancellationToken cancellation)
    {
        long seconds = await Call(
            async (endpoint, options) =>
            {
                using AsyncDuplexStreamingCall<LeaseKeepAliveRequest, LeaseKeepAliveResponse> call = endpoint.Leases.LeaseKeepAlive(options);
                await call.RequestStream.WriteAsync(new LeaseKeepAliveRequest { ID = lease }, options.CancellationToken);
                await call.RequestStream.CompleteAsync();
                return await call.ResponseStream.MoveNext(options.CancellationToken) ? call.ResponseStream.Current.TTL : throw new RpcException(new Status(StatusCode.Unavailable, "the stream of renewals has ended"));
            },
            canRepeat: true,
            cancellation);
        return seconds > 0 ? TimeSpan.FromSeconds(seconds) : null;
    }

    public Task Revoke(long lease, CancellationToken cancellation) => Call(
        async (endpoint, options) =>
        {
            try
            {
                await endpoint.Leases.LeaseRevokeAsync(new LeaseRevokeRequest { ID = lease }, options);
            }
            catch (RpcException failure) when (failure.StatusCode == StatusCode.NotFound)
            {
                // It has ended, as is wanted.
            }

            return true;
        },
        canRepeat: true,
        cancellation);

    public async ValueTask DisposeAsync()
    {
        await _closing.CancelAsync();
        foreach (EtcdEndpoint endpoint in _endpoints) endpoint.Dispose();
    }

    // Asks each member at most once, and that which answers twice if it knows the token no more.
    private async Task<T> Call<T>(Func<EtcdEndpoint, CallOptions, Task<T>> call, bool canRepeat, CancellationToken cancellation)
    {
        int first = _current;
        var failures = new List<(string Address, EtcdFailure Failure)>();
        bool isNewToken = false;
        for (int i = 0; i < _endpoints.Length;)
        {
            int index = (first + i) % _endpoints.Length;
            EtcdEndpoint endpoint = _endpoints[index];
            TimeSpan time = _hasAnswered ? _options.AttemptTime : Max(EtcdOptions.FirstAttemptTime, _options.AttemptTime);
            EtcdFailure failure;
            try
            {
                ThrowIfClosed();
                cancellation.ThrowIfCancellationRequested();
                if (_options.User.Length > 0 && _token is null)
                {
                    _token = await Authenticate(endpoint, OptionsOf(time, cancellation));
                    isNewToken = true;
                }

                T reply = await call(endpoint, OptionsOf(time, cancellation));
                _hasAnswered = true;
                _current = index;
                return reply;
            }
            catch (RpcException failed)
            {
                cancellation.ThrowIfCancellationRequested();
                ThrowIfClosed();
                failure = EtcdFailure.Of(failed, time);
            }
            catch (OperationCanceledException)
            {
                ThrowIfClosed();
                throw;
            }
            catch (Exception failed) when (failed is InvalidOperationException or ObjectDisposedException)
            {
                // Writing to a stream that has ended meanwhile.
                cancellation.ThrowIfCancellationRequested();
                ThrowIfClosed();
                failure = new EtcdFailure(EtcdFailure.OneLine(failed.Message), EtcdFailureKind.Unknown);
            }

            if (failure.Kind == EtcdFailureKind.Token && _options.User.Length > 0 && !isNewToken)
            {
                _token = null;
                continue;
            }

            if (failure.Kind is EtcdFailureKind.Refused or EtcdFailureKind.Token or EtcdFailureKind.Credentials) throw FailureOf(endpoint.Address, failure);

            // The next call begins with another member.
            _current = (index + 1) % _endpoints.Length;
            if (failure.Kind == EtcdFailureKind.Unknown && !canRepeat) throw FailureOf(endpoint.Address, failure);
            failures.Add((endpoint.Address, failure));
            i++;
        }

        throw new StoreException(
            $"etcd is not reached: {string.Join("; ", failures.OrderBy(static failed => failed.Address, StringComparer.Ordinal).Select(static failed => $"{failed.Address}: {failed.Failure.Reason}"))}",
            isConfiguration: failures.TrueForAll(static failed => failed.Failure.Kind == EtcdFailureKind.Certificate));
    }

    // Null: etcd asks for no authentication, and the user that is named does not matter.
    private async Task<string> Authenticate(EtcdEndpoint endpoint, CallOptions options)
    {
        try
        {
            return (await endpoint.Users.AuthenticateAsync(new AuthenticateRequest { Name = _options.User, Password = _options.Password }, options)).Token;
        }
        catch (RpcException failure) when (failure.StatusCode == StatusCode.FailedPrecondition)
        {
            return "";
        }
    }

    private CallOptions OptionsOf(TimeSpan time, CancellationToken cancellation)
    {
        Metadata? headers = _token is { Length: > 0 } token ? new Metadata { { "token", token } } : null;
        return new CallOptions(headers, DateTime.UtcNow + time, cancellation);
    }

    private StoreException FailureOf(string address, Exception failure) => _closing.IsCancellationRequested ? Closed() : failure is RpcException failed
        ? FailureOf(address, EtcdFailure.Of(failed, _options.AttemptTime))
        : new StoreException($"etcd at {address}: {EtcdFailure.OneLine(failure.Message)}");

    private static StoreException FailureOf(string address, EtcdFailure failure) =>
        new($"etcd at {address}: {failure.Reason}", isConfiguration: failure.Kind is EtcdFailureKind.Credentials or EtcdFailureKind.Certificate);

    private void ThrowIfClosed()
    {
        if (_closing.IsCancellationRequested) throw Closed();
    }

    private static StoreException Closed() => new("The store is closed.");

    private ByteString KeyOf(string key) => ByteString.CopyFromUtf8(_options.Prefix + key);

    // All keys that begin with a text: those before the next text of its length. For the empty one that is each key, which etcd writes as zeros.
    private (ByteString First, ByteString End) Range(string keysFrom)
    {
        ByteString first = KeyOf(keysFrom);
        byte[] end = first.ToByteArray();
        int last = Array.FindLastIndex(end, static value => value < byte.MaxValue);
        ByteString zero = ByteString.CopyFrom(0);
        if (last < 0) return (first.IsEmpty ? zero : first, zero);
        end[last]++;
        return (first, ByteString.CopyFrom(end.AsSpan(0, last + 1)));
    }

    private StoreEntry EntryOf(KeyValue found) => new(found.Key.ToStringUtf8()[_options.Prefix.Length..], found.Value.Memory, found.ModRevision);

    private static TimeSpan Max(TimeSpan a, TimeSpan b) => a > b ? a : b;
}
