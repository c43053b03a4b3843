using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Store.Tests.Memory;

public class MemoryBudgetTests
{
    [Fact]
    public void Limit_is_exceeded_above_it_only()
    {
        var budget = new MemoryBudget();
        budget.Add(1_000_000);
        Assert.Equal(((long?)null, 1_000_000L, false), (budget.LimitBytes, budget.UsedBytes, budget.IsExceeded));
        budget.LimitBytes = 1_000_000;
        Assert.False(budget.IsExceeded);
        budget.Add(1);
        Assert.True(budget.IsExceeded);
        budget.LimitBytes = 2_000_000;
        Assert.Equal(((long?)2_000_000, 1_000_001L, false), (budget.LimitBytes, budget.UsedBytes, budget.IsExceeded));
        budget.LimitBytes = null;
        Assert.Equal(((long?)null, 1_000_001L, false), (budget.LimitBytes, budget.UsedBytes, budget.IsExceeded));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Budget_follows_usage(bool guarded)
    {
        const int Stripes = 4;
        Randomness.Run(random =>
        {
            using var store = new KeyStore(Stripes, 1, guarded);
            Database database = store.Databases[0];
            store.LimitMemory(4 << 20, reports: true);
            for (int step = 0; step < 20_000; step++)
            {
                byte[] key = BitConverter.GetBytes(random.Next(3_000));
                ulong hash = store.Hash(key);
                Entry entry = database.Find(key, hash, ExpiryClock.Never);
                if (random.Next(step / 5_000 % 2 == 0 ? 4 : 2) == 0 && entry.Exists) database.Unlink(entry, UnlinkReason.Deleted);
                else database.WriteString(key, hash, entry, random.Next(random.Next(20) == 0 ? 40_000 : 900), ValueEncoding.Raw, Database.NoExpiry, 0);
                long used = store.UsedBytes;
                Assert.InRange(store.Budget.UsedBytes, used - (Stripes * store.Budget.StepBytes), used + (Stripes * store.Budget.StepBytes));
                Assert.Equal(store.Budget.UsedBytes > store.Budget.LimitBytes, store.Budget.IsExceeded);
            }
        });
    }
}
