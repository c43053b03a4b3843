using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Store.Tests.Keyspace;

/// <summary>A change that gets no memory: it throws before anything has changed.</summary>
public class RefusedMemoryTests
{
    public static TheoryData<string> Changes => ["write", "overwrite", "grow", "form", "expire", "rename", "copy"];

    [Theory]
    [MemberData(nameof(Changes))]
    public void Refused_allocation_changes_nothing(string change)
    {
        foreach (int length in new[] { 3, 300, 5_000, 70_000, 300_000 })
        {
            if (change == "rename" && length >= EntryBlock.LargeValueMin) continue; // Its block has room for the key: nothing is allocated.
            using var store = new KeyStore(2, 1, guarded: true);
            Database database = store.Databases[0];
            Write(store, "key"u8, length);
            Write(store, "other"u8, 10);
            long used = store.UsedBytes;
            SystemMemory.Refuses = true;
            try
            {
                if (change == "expire" && length > ushort.MaxValue) Change(store, change, length); // The long form has room for an expiry.
                else Assert.ThrowsAny<OutOfMemoryException>(() => Change(store, change, length));
            }
            finally
            {
                SystemMemory.Refuses = false;
            }

            Assert.Equal((2, used), (database.Count, store.UsedBytes));
            Entry entry = database.Find("key"u8, store.Hash("key"u8), ExpiryClock.Never);
            Assert.Equal(length, entry.Value.Length);
            Assert.False(entry.Value.ContainsAnyExcept((byte)7));
            Assert.False(database.Find("new"u8, store.Hash("new"u8), ExpiryClock.Never).Exists);
            store.CheckGuards();
        }
    }

    private static void Change(KeyStore store, string change, int length)
    {
        Database database = store.Databases[0];
        ulong hash = store.Hash("key"u8);
        Entry entry = database.Find("key"u8, hash, ExpiryClock.Never);
        ulong newHash = store.Hash("new"u8);
        switch (change)
        {
            case "write": Write(store, "new"u8, length); break;
            case "overwrite": database.WriteString("key"u8, hash, entry, length * 2, ValueEncoding.Raw, Database.NoExpiry, 0); break;
            case "grow": database.ResizeValue(entry, length * 2); break;
            case "form": database.ResizeValue(entry, 100_000); break;
            case "expire": database.WriteExpiry(entry, 9_000); break;
            case "rename": database.Rename(entry, "new"u8, newHash, default); break;
            default: Database.Copy(entry, database, "new"u8, newHash, default, 0); break;
        }
    }

    private static void Write(KeyStore store, ReadOnlySpan<byte> key, int length) =>
        store.Databases[0].WriteString(key, store.Hash(key), default, length, ValueEncoding.Raw, Database.NoExpiry, 0).Value.Fill(7);
}
