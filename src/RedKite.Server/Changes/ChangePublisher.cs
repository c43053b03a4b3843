using RedKite.Store.Keyspace;

namespace RedKite.Server.Changes;

/// <summary>The consumers of a server's changes. The list changes only while every stripe is locked, and is read with one locked.</summary>
internal sealed class ChangePublisher(Keyspace keyspace)
{
    private IChangeConsumer[] _consumers = [];

    /// <summary>Adds a consumer: from the next invocation on it learns of all. No stripe is locked.</summary>
    internal void Subscribe(IChangeConsumer consumer) => Change([.. _consumers, consumer]);

    internal void Unsubscribe(IChangeConsumer consumer) => Change([.. _consumers.Where(other => other != consumer)]);

    internal void Publish(scoped in Invocation invocation)
    {
        foreach (IChangeConsumer consumer in _consumers) consumer.Published(invocation);
    }

    private void Change(IChangeConsumer[] consumers)
    {
        using LockScope locked = keyspace.Lock(keyspace.AllStripes);
        _consumers = consumers;
        foreach (Stripe stripe in keyspace.Stripes) stripe.Observe(StripeObservers.Events, consumers.Length > 0);
    }
}
