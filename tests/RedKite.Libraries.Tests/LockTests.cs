using Medallion.Threading;
using Medallion.Threading.Redis;
using StackExchange.Redis;

namespace RedKite.Libraries.Tests;

/// <summary>Locks and semaphores across processes: DistributedLock.</summary>
public sealed class LockTests(Servers servers)
{
    public static TheoryData<string> Names => Servers.Names;

    private static CancellationToken Cancellation => TestContext.Current.CancellationToken;

    [Theory]
    [MemberData(nameof(Names))]
    public async Task Lock_is_held_by_one_and_extended_until_it_is_released(string server)
    {
        await using ConnectionMultiplexer multiplexer = await ConnectionMultiplexer.ConnectAsync(servers.On(server));
        var provider = new RedisDistributedSynchronizationProvider(multiplexer.GetDatabase());
        IDistributedLock one = provider.CreateLock("order:1"), other = provider.CreateLock("order:1");
        await using (IDistributedSynchronizationHandle? held = await one.TryAcquireAsync(cancellationToken: Cancellation))
        {
            Assert.NotNull(held);
            Assert.Null(await other.TryAcquireAsync(cancellationToken: Cancellation));
        }

        await using IDistributedSynchronizationHandle? next = await other.TryAcquireAsync(cancellationToken: Cancellation);
        Assert.NotNull(next);
    }

    [Theory]
    [MemberData(nameof(Names))]
    public async Task Readers_share_and_writers_do_not(string server)
    {
        await using ConnectionMultiplexer multiplexer = await ConnectionMultiplexer.ConnectAsync(servers.On(server));
        var shared = new RedisDistributedReaderWriterLock("prices", multiplexer.GetDatabase());
        await using (IDistributedSynchronizationHandle? first = await shared.TryAcquireReadLockAsync(cancellationToken: Cancellation))
        await using (IDistributedSynchronizationHandle? second = await shared.TryAcquireReadLockAsync(cancellationToken: Cancellation))
        {
            Assert.NotNull(first);
            Assert.NotNull(second);
            Assert.Null(await shared.TryAcquireWriteLockAsync(cancellationToken: Cancellation));
        }

        await using IDistributedSynchronizationHandle? writer = await shared.TryAcquireWriteLockAsync(cancellationToken: Cancellation);
        Assert.NotNull(writer);
        Assert.Null(await shared.TryAcquireReadLockAsync(cancellationToken: Cancellation));
    }

    [Theory]
    [MemberData(nameof(Names))]
    public async Task Semaphore_has_its_number_of_holders(string server)
    {
        await using ConnectionMultiplexer multiplexer = await ConnectionMultiplexer.ConnectAsync(servers.On(server));
        var semaphore = new RedisDistributedSemaphore("workers", maxCount: 2, multiplexer.GetDatabase());
        await using IDistributedSynchronizationHandle? first = await semaphore.TryAcquireAsync(cancellationToken: Cancellation);
        RedisDistributedSemaphoreHandle? second = await semaphore.TryAcquireAsync(cancellationToken: Cancellation);
        Assert.NotNull(first);
        Assert.NotNull(second);
        Assert.Null(await semaphore.TryAcquireAsync(cancellationToken: Cancellation));
        await second.DisposeAsync();
        await using IDistributedSynchronizationHandle? third = await semaphore.TryAcquireAsync(cancellationToken: Cancellation);
        Assert.NotNull(third);
    }
}
