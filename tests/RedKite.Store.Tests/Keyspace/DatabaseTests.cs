using System.Text;
using RedKite.Store.Keyspace;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Store.Tests.Keyspace;

/// <summary>Databases on guarded memory against dictionaries.</summary>
public class DatabaseTests
{
    private static readonly int[] Lengths = [0, 1, 7, 8, 50, 51, 120, 400, 4_000, 4_100, 65_535, 65_536, 70_000, 200_000, 262_143, 262_144];

    [Fact]
    public void Replaced_entry_is_restored_or_freed()
    {
        using var store = new KeyStore(1, 1, guarded: true);
        Database database = store.Databases[0];
        ulong hash = store.Hash("key"u8);
        foreach (bool comesBack in (bool[])[true, false])
        {
            Entry old = database.WriteString("key"u8, hash, database.Find("key"u8, hash, ExpiryClock.Never), 3, ValueEncoding.Raw, 9_000, 1);
            "old"u8.CopyTo(old.Value);
            nint kept = database.BeginReplacing(hash, old);
            Assert.False(database.Find("key"u8, hash, ExpiryClock.Never).Exists);
            Assert.Equal((0, 0), (database.Count, database.Expiring));
            Entry other = database.WriteString("key"u8, hash, default, 5, ValueEncoding.Raw, Database.NoExpiry, 1);
            if (comesBack)
            {
                database.Unlink(other, UnlinkReason.Deleted);
                database.EndReplacing(kept, "key"u8, hash, isReplaced: false);
                Entry found = database.Find("key"u8, hash, ExpiryClock.Never);
                Assert.True(found.Value.SequenceEqual("old"u8));
                Assert.Equal((9_000, 1, 1), (found.ExpiryMs, database.Count, database.Expiring));
            }
            else
            {
                database.EndReplacing(kept, "key"u8, hash, isReplaced: true);
                Assert.Equal((1, 0), (database.Count, database.Expiring));
            }
        }

        database.Unlink(database.Find("key"u8, hash, ExpiryClock.Never), UnlinkReason.Deleted);
        store.CheckGuards();
        Assert.Equal(0, store.Stripes[0].Guard!.LiveBlocks);
    }

    [Fact]
    public void String_overwrites_any_size_expiry_and_form()
    {
        foreach (int keyLength in new[] { 0, 5, 255, 256 })
        {
            using var store = new KeyStore(1, 1, guarded: true);
            Database database = store.Databases[0];
            byte[] key = new byte[keyLength];
            key.AsSpan().Fill((byte)'k');
            ulong hash = store.Hash(key);
            foreach (int from in Lengths)
            {
                foreach (int to in Lengths)
                {
                    foreach ((long expiryBefore, long expiryAfter) in new[] { (-1L, -1L), (-1L, 9_000L), (8_000L, -1L), (8_000L, 9_000L) })
                    {
                        Entry first = database.WriteString(key, hash, database.Find(key, hash, ExpiryClock.Never), from, ValueEncoding.Raw, expiryBefore, 1);
                        first.Value.Fill(1);
                        Entry second = database.WriteString(key, hash, first, to, ValueEncoding.Embedded, expiryAfter, 2);
                        second.Value.Fill(2);
                        Entry found = database.Find(key, hash, ExpiryClock.Never);
                        Assert.True(found.Exists && found.Key.SequenceEqual(key));
                        Assert.Equal(to, found.Value.Length);
                        Assert.False(found.Value.ContainsAnyExcept((byte)2));
                        Assert.Equal((expiryAfter, ValueEncoding.Embedded, 2u), (found.ExpiryMs, found.Encoding, found.AccessClock));
                        Assert.Equal(1, database.Count);
                        Assert.Equal(expiryAfter == Database.NoExpiry ? 0 : 1, database.Expiring);
                    }
                }
            }

            store.CheckGuards();
        }
    }

    [Fact]
    public void Resized_string_keeps_its_prefix_and_everything_else()
    {
        using var store = new KeyStore(1, 1, guarded: true);
        Database database = store.Databases[0];
        byte[] key = "key"u8.ToArray();
        ulong hash = store.Hash(key);
        foreach (int from in Lengths)
        {
            foreach (int to in Lengths)
            {
                foreach (long expiry in new[] { Database.NoExpiry, 5_000 })
                {
                    byte[] content = new Random(from).Bytes(from);
                    Entry entry = database.WriteString(key, hash, database.Find(key, hash, ExpiryClock.Never), from, ValueEncoding.Raw, expiry, 77);
                    content.CopyTo(entry.Value);
                    entry = database.ResizeValue(entry, to);
                    Assert.Equal(to, entry.Value.Length);
                    Assert.True(entry.Value[..Math.Min(from, to)].SequenceEqual(content.AsSpan(0, Math.Min(from, to))));
                    entry.Value.Fill(3);
                    Entry found = database.Find(key, hash, ExpiryClock.Never);
                    Assert.True(found.Key.SequenceEqual(key));
                    Assert.Equal((to, expiry, 77u, ValueEncoding.Raw), (found.Value.Length, found.ExpiryMs, found.AccessClock, found.Encoding));
                }
            }
        }

        store.CheckGuards();
    }

    [Fact]
    public void Expiry_is_set_changed_and_removed_in_both_forms()
    {
        using var store = new KeyStore(4, 1, guarded: true);
        Database database = store.Databases[0];
        foreach (int length in Lengths)
        {
            byte[] key = Encoding.ASCII.GetBytes($"key {length}");
            ulong hash = store.Hash(key);
            byte[] content = new Random(length).Bytes(length);
            Entry entry = database.WriteString(key, hash, default, length, ValueEncoding.Raw, Database.NoExpiry, 9);
            content.CopyTo(entry.Value);
            foreach (long expiry in new[] { Database.NoExpiry, 5_000, 6_000, 4_000, Database.NoExpiry, 7_000, 7_000, Database.NoExpiry })
            {
                entry = database.WriteExpiry(database.Find(key, hash, ExpiryClock.Never), expiry);
                Assert.Equal(expiry, entry.ExpiryMs);
                Entry found = database.Find(key, hash, ExpiryClock.RemovingAt(3_999));
                Assert.True(found.Key.SequenceEqual(key) && found.Value.SequenceEqual(content));
                Assert.Equal((expiry, 9u), (found.ExpiryMs, found.AccessClock));
                Assert.Equal(expiry == Database.NoExpiry ? 0 : 1, database.Expiring);
            }
        }

        Assert.Equal(Lengths.Length, database.Count);
        store.CheckGuards();
    }

    [Fact]
    public void Expired_key_is_removed_on_access()
    {
        using var store = new KeyStore(1, 1, guarded: true);
        Database database = store.Databases[0];
        byte[] key = "key"u8.ToArray();
        ulong hash = store.Hash(key);
        database.WriteString(key, hash, default, 10, ValueEncoding.Raw, 1_000, 0).Value.Clear();
        Assert.True(database.Find(key, hash, ExpiryClock.RemovingAt(999)).Exists);
        Assert.Equal(0, store.ExpiredKeys);
        Assert.False(database.Find(key, hash, ExpiryClock.RemovingAt(1_000)).Exists);
        Assert.Equal((0, 0, 1, 0), (database.Count, database.Expiring, store.ExpiredKeys, store.SweptKeys));
        Assert.False(database.Find(key, hash, ExpiryClock.Never).Exists);
    }

    [Fact]
    public void Copy_is_independent_of_its_source()
    {
        using var store = new KeyStore(8, 2, guarded: true);
        Database source = store.Databases[0];
        Database target = store.Databases[1];
        for (int i = 0; i < 200; i++)
        {
            byte[] key = Encoding.ASCII.GetBytes($"key {i}");
            byte[] copied = Encoding.ASCII.GetBytes($"copy {i}");
            byte[] content = new Random(i).Bytes(Lengths[i % Lengths.Length]);
            Entry entry = source.WriteString(key, store.Hash(key), default, content.Length, ValueEncoding.Embedded, i % 2 == 0 ? 5_000 : Database.NoExpiry, 3);
            content.CopyTo(entry.Value);
            Entry existing = default;
            if (i % 3 == 0) existing = target.WriteString(copied, store.Hash(copied), default, 12, ValueEncoding.Raw, 6_000, 1);
            Database.Copy(entry, target, copied, store.Hash(copied), existing, accessClock: 3);
            entry.Value.Clear();
            source.Unlink(source.Find(key, store.Hash(key), ExpiryClock.Never), UnlinkReason.Deleted);
            Entry found = target.Find(copied, store.Hash(copied), ExpiryClock.Never);
            Assert.True(found.Value.SequenceEqual(content));
            Assert.Equal((i % 2 == 0 ? 5_000 : -1, ValueEncoding.Embedded, 3u), (found.ExpiryMs, found.Encoding, found.AccessClock));
        }

        Assert.Equal((0, 200), (source.Count, target.Count));
        store.CheckGuards();
    }

    [Fact]
    public void Clear_and_swap_affect_whole_databases()
    {
        using var store = new KeyStore(8, 2, guarded: true);
        Database first = store.Databases[0];
        Database second = store.Databases[1];
        for (int i = 0; i < 5_000; i++) Write(store, i % 5 == 0 ? second : first, $"key {i}", i % 2 == 0 ? 1_000 : Database.NoExpiry);
        Assert.Equal((4_000, 1_000), (first.Count, second.Count));
        Assert.Equal((2_000, 500), (first.Expiring, second.Expiring));
        first.SwapWith(second);
        Assert.Equal((1_000, 4_000), (first.Count, second.Count));
        Assert.True(Find(store, first, "key 5"));
        Assert.False(Find(store, second, "key 5"));
        long used = store.UsedBytes;
        second.Clear();
        Assert.Equal((1_000, 0), (first.Count, second.Count));
        Assert.Equal(used, store.UsedBytes); // queued, to be freed in slices
        Assert.False(Find(store, second, "key 6"));
        Write(store, second, "key 6", Database.NoExpiry);
        foreach (Stripe stripe in store.Stripes)
        {
            while (stripe.FreeDroppedSlice())
            {
            }
        }

        Assert.True(store.UsedBytes < used / 2);
        Assert.True(Find(store, second, "key 6") && Find(store, first, "key 10"));
        store.CheckGuards();
    }

    [Theory]
    [InlineData(1)]
    [InlineData(64)]
    public void Random_operations_agree_with_dictionaries(int stripes)
    {
        Randomness.Run(random =>
        {
            using var store = new KeyStore(stripes, 3, guarded: true);
            var models = new Dictionary<string, (byte[] Value, long Expiry)>[] { [], [], [] };
            long nowMs = 1_000;
            for (int step = 0; step < 40_000; step++)
            {
                int index = random.Next(3);
                Work(store, store.Databases[index], models[index], random, nowMs);
                if (random.Next(50) == 0) nowMs += random.Next(10);
                if (random.Next(4_000) == 0)
                {
                    store.Databases[index].Clear();
                    models[index].Clear();
                }

                if (random.Next(4_000) == 0)
                {
                    int other = random.Next(3);
                    store.Databases[index].SwapWith(store.Databases[other]);
                    (models[index], models[other]) = (models[other], models[index]);
                }

                if (step % 8_000 == 0) store.CheckGuards();
            }

            for (int index = 0; index < 3; index++)
            {
                foreach (string key in models[index].Keys) AssertSame(store, store.Databases[index], models[index], key, nowMs);
            }

            store.CheckGuards();
        });
    }

    private static void Work(KeyStore store, Database database, Dictionary<string, (byte[] Value, long Expiry)> model, Random random, long nowMs)
    {
        string name = $"key {random.Next(700)}";
        if (random.Next(30) == 0) name = name.PadRight(300);
        AssertSame(store, database, model, name, nowMs);
        byte[] key = Encoding.ASCII.GetBytes(name);
        Entry entry = database.Find(key, store.Hash(key), ExpiryClock.RemovingAt(nowMs));
        byte[] content = random.Bytes(random.Next(40) == 0 ? random.Pick<int>(Lengths) : random.Next(100));
        switch (random.Next(8))
        {
            case < 3:
                long expiry = random.Next(3) == 0 ? nowMs + random.Next(1, 300) : Database.NoExpiry;
                content.CopyTo(database.WriteString(key, store.Hash(key), entry, content.Length, ValueEncoding.Raw, expiry, 0).Value);
                model[name] = (content, expiry);
                break;
            case 3 when entry.Exists:
                content.CopyTo(database.ResizeValue(entry, content.Length).Value);
                model[name] = (content, model[name].Expiry);
                break;
            case 4 when entry.Exists:
                long changed = random.Next(2) == 0 ? nowMs + random.Next(1, 300) : Database.NoExpiry;
                database.WriteExpiry(entry, changed);
                model[name] = (model[name].Value, changed);
                break;
            case < 7 when entry.Exists:
                database.Unlink(entry, UnlinkReason.Deleted);
                model.Remove(name);
                break;
        }
    }

    private static void AssertSame(KeyStore store, Database database, Dictionary<string, (byte[] Value, long Expiry)> model, string name, long nowMs)
    {
        byte[] key = Encoding.ASCII.GetBytes(name);
        if (model.TryGetValue(name, out (byte[] Value, long Expiry) expected) && expected.Expiry != Database.NoExpiry && expected.Expiry <= nowMs) model.Remove(name);
        Entry entry = database.Find(key, store.Hash(key), ExpiryClock.RemovingAt(nowMs));
        Assert.Equal(model.ContainsKey(name), entry.Exists);
        if (!entry.Exists) return;
        Assert.True(entry.Key.SequenceEqual(key));
        Assert.True(entry.Value.SequenceEqual(model[name].Value), $"{name} has another value.");
        Assert.Equal(model[name].Expiry, entry.ExpiryMs);
    }

    private static void Write(KeyStore store, Database database, string name, long expiryMs)
    {
        byte[] key = Encoding.ASCII.GetBytes(name);
        database.WriteString(key, store.Hash(key), database.Find(key, store.Hash(key), ExpiryClock.Never), 20, ValueEncoding.Raw, expiryMs, 0).Value.Clear();
    }

    private static bool Find(KeyStore store, Database database, string name)
    {
        byte[] key = Encoding.ASCII.GetBytes(name);
        return database.Find(key, store.Hash(key), ExpiryClock.Never).Exists;
    }
}
