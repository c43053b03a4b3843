using RedKite.Store.Keyspace;

namespace RedKite.Server.Changes;

/// <summary>
/// The consumers of a server's changes. The list changes only while every stripe is locked, and is read with one locked. A command may
/// hold stripes (in a transaction), so its requests take effect after it.
/// </summary>
internal sealed class ChangePublisher(Keyspace keyspace)
{
    private readonly Lock _requesting = new();
    private IChangeConsumer[] _consumers = [];
    private IChangeConsumer[] _requested = [];
    private volatile bool _hasRequests;

    /// <summary>Whether <see cref="Apply"/> has something to do.</summary>
    internal bool HasRequests => _hasRequests;

    /// <summary>Adds a consumer: it receives all invocations from the next one on. No stripe is locked.</summary>
    internal void Subscribe(IChangeConsumer consumer)
    {
        Request(consumer, isOn: true);
        Apply();
    }

    internal void Unsubscribe(IChangeConsumer consumer)
    {
        Request(consumer, isOn: false);
        Apply();
    }

    /// <summary>Requests that a consumer be added or removed after the command that is executing. From any thread.</summary>
    internal void Request(IChangeConsumer consumer, bool isOn)
    {
        lock (_requesting)
        {
            if (_requested.Contains(consumer) == isOn) return;
            _requested = isOn ? [.. _requested, consumer] : [.. _requested.Where(other => other != consumer)];
            _hasRequests = true;
        }
    }

    /// <summary>Adds and removes the consumers as requested. No stripe is locked.</summary>
    internal void Apply()
    {
        using LockScope locked = keyspace.LockAll();
        lock (_requesting)
        {
            _consumers = _requested;
            _hasRequests = false;
        }

        foreach (Stripe stripe in keyspace.Stripes) stripe.Observe(StripeObservers.Events, _consumers.Length > 0);
    }

    internal void Publish(scoped in Invocation invocation)
    {
        foreach (IChangeConsumer consumer in _consumers) consumer.Published(invocation);
    }
}
