using RedKite.Store.Keyspace;

namespace RedKite.Server.Changes;

/// <summary>The consumers of a server's changes. The list changes only while every stripe is locked, and is read with one locked.</summary>
internal sealed class ChangePublisher(Keyspace keyspace)
{
    private IChangeConsumer[] _consumers = [];

    /// <summary>Adds a consumer: from the next invocation on it learns of all. No stripe is locked.</summary>
    internal void Subscribe(IChangeConsumer consumer) => Change(consumers => [.. consumers, consumer]);

    internal void Unsubscribe(IChangeConsumer consumer) => Change(consumers => [.. consumers.Where(other => other != consumer)]);

    internal void Publish(scoped in Invocation invocation)
    {
        foreach (IChangeConsumer consumer in _consumers) consumer.Published(invocation);
    }

    private void Change(Func<IChangeConsumer[], IChangeConsumer[]> change)
    {
        using LockScope locked = keyspace.LockAll();
        _consumers = change(_consumers);
        foreach (Stripe stripe in keyspace.Stripes) stripe.Observe(StripeObservers.Events, _consumers.Length > 0);
    }
}
