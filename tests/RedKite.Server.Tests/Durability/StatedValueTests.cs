using RedKite.TestSupport;

namespace RedKite.Server.Tests.Durability;

/// <summary>
/// Values that state wrongly what follows from their elements: counts, orders, the largest id. redis-server loads them, whatever it does with them later; here they
/// are determined from the elements, with a warning.
/// </summary>
public sealed class StatedValueTests
{
    private const int VersionAndSumBytes = 10;

    [Theory]
    [InlineData("FQEQAAAAAAAAAAEAAAAAAAAAADMzAAAAFAADAQABAQGBZgIAAQIBAAEAAYF2AgQBAgEBAQABgXYCBAECAQIBAAGBdgIEAf8HAwABAAAAAwALAEt/B/slegKc", "XLEN k", "3", "its number of entries")]
    [InlineData("FQEQAAAAAAAAAAEAAAAAAAAAADMzAAAAFAADAQABAQGBZgIAAQIBAAEAAYF2AgQBAgEBAQABgXYCBAECAQIBAAGBdgIEAf+B//////////8DAAEAAAADAAsA6XuxrJ3iFKY=", "XLEN k", "3", "its number of entries")]
    [InlineData("FQEQAAAAAAAAAAEAAAAAAAAAADMzAAAAFAADAQABAQGBZgIAAQIBAAEAAYF2AgQBAgEBAQABgXYCBAECAQIBAAGBdgIEAf8BAwABAAAAAwALAB+QXQ7jpXZb", "XLEN k", "3", "its number of entries")]
    [InlineData("FQEQAAAAAAAAAAEAAAAAAAAAADMzAAAAFAADAQABAQGBZgIAAQIBAAEAAYF2AgQBAgEBAQABgXYCBAECAQIBAAGBdgIEAf8AAwABAAAAAwALAHm9xidCfx96", "XLEN k", "3", "its number of entries")]
    [InlineData("FQEQAAAAAAAAAAEAAAAAAAAAADMzAAAAFAAJAQABAQGBZgIAAQIBAAEAAYF2AgQBAgEBAQABgXYCBAECAQIBAAGBdgIEAf8DAwABAAAAAwALAEEvekA36eCv", "XLEN k", "3", "the number of entries of a node")]
    [InlineData("FQEQAAAAAAAAAAEAAAAAAAAAADMzAAAAFAAAAQABAQGBZgIAAQIBAAEAAYF2AgQBAgEBAQABgXYCBAECAQIBAAGBdgIEAf8DAwABAAAAAwALAJRk7FgYu0Qv", "XLEN k", "3", "the number of entries of a node")]
    [InlineData("FQEQAAAAAAAAAAEAAAAAAAAAADMzAAAAFAADAQUBAQGBZgIAAQIBAAEAAYF2AgQBAgEBAQABgXYCBAECAQIBAAGBdgIEAf8DAwABAAAAAwALAI3h42QO2TgH", "XLEN k", "3", "the number of entries of a node")]
    [InlineData("FQEQAAAAAAAAAAEAAAAAAAAAADMzAAAAFAADAQABAQGBZgIAAQIBAAEAAYF2AgQBAgEBAQABgXYCBAECAQIBAAGBdgIEAf8DAQABAAAAAwALACDU/tLt0slt", "XADD k 4-1 f v", "4-1", "its last id")]
    [InlineData("FQEQAAAAAAAAAAEAAAAAAAAAADMzAAAAFAADAQABAQGBZgIAAQIBAAEAAYF2AgQBAgEBAQABgXYCBAECAQIBAAGBdgIEAf8DAAABAAAAAwALAOySfzniIFPC", "XSETID k 3-0", "OK", "its last id")]
    [InlineData("FQEQAAAAAAAAAAEAAAAAAAAAADMzAAAAFAADAQABAQGBZgIAAQIBAAEAAYF2AgQBAgEBAQABgXYCBAECAQIBAAGBdgIEAf8DAwABAAAAAQALALSfDh015j4r", "XINFO STREAM k", "entries-added 3", "how many entries it has had")]
    [InlineData("FQEQAAAAAAAAAAEAAAAAAAAAADMzAAAAFAADAQABAQGBZgIAAQIBAAEAAYF2AgQBAgEBAQABgXYCBAECAQIBAAGBdgIEAf8DAwABAAAAAAALALL8d5FWjt+n", "XINFO STREAM k", "entries-added 3", "how many entries it has had")]
    [InlineData("FQEQAAAAAAAAAAEAAAAAAAAAADMzAAAAAwADAQABAQGBZgIAAQIBAAEAAYF2AgQBAgEBAQABgXYCBAECAQIBAAGBdgIEAf8DAwABAAAAAwALACDr0GsPS8oD", "XRANGE k 3 +", "[[3-0 [f v]]]", "the number of elements of a packed list")]
    [InlineData("FQEQAAAAAAAAAAEAAAAAAAAAADMzAAAAFAADAQABAQGBZgIAAQIBAAEAAYF2AgkBAgEBAQABgXYCCQECAQIBAAGBdgIJAf8DAwABAAAAAwALAIuSH49MBV3H", "XREVRANGE k + - COUNT 1", "[[3-0 [f v]]]", "the number of elements of an entry")]
    [InlineData("FQEQAAAAAAAAAAEAAAAAAAAAADMzAAAAFAADAQABAQGBZgIFAQIBAAEAAYF2AgQBAgEBAQABgXYCBAECAQIBAAGBdgIEAf8DAwABAAAAAwALACYg6x4fIk5s", "XLEN k", "3", "the end of a node's head")]
    [InlineData("FQEQAAAAAAAAAAEAAAAAAAAAADMzAAAAFAADAQABAQGBZgIAAQIBAAEAAYF2AgQBAgEBAQABgXYCBAECAQIBAAGBdgIEAf8DAwABAAAAAwEBZwIAAgIAAAAAAAAAAQAAAAAAAAAA6AMAAAAAAAABAAAAAAAAAAIAAAAAAAAAAOgDAAAAAAAAAQEBY+gDAAAAAAAA6AMAAAAAAAABAAAAAAAAAAEAAAAAAAAAAAsAO2M5A6pluFM=", "XPENDING k g", "[1 1-0 1-0 [[c 1]]]", "pending entries that belong to no consumer")]
    [InlineData("FQEQAAAAAAAAAAEAAAAAAAAAADMzAAAAFAADAQABAQGBZgIAAQIBAAEAAYF2AgQBAgEBAQABgXYCBAECAQIBAAGBdgIEAf8DAwABAAAAAwEBZwIAAgIAAAAAAAAAAQAAAAAAAAAA6AMAAAAAAAABAAAAAAAAAAIAAAAAAAAAAOgDAAAAAAAAAQALAOqPAPHyHIpL", "XPENDING k g", "[0 (nil) (nil) (nil)]", "pending entries that belong to no consumer")]
    [InlineData("EBMTAAAACACBYQKBMQKBYgKBMgL/CwB9d6KFyDfeZQ==", "HGETALL k", "[a 1 b 2]", "the number of elements of a packed list")]
    [InlineData("EBMTAAAAAgCBYQKBMQKBYgKBMgL/CwDUb1Zkv8iSTg==", "HLEN k", "2", "the number of elements of a packed list")]
    [InlineData("EBMTAAAAAACBYQKBMQKBYgKBMgL/CwAJaDIE8a57Rg==", "HLEN k", "2", "the number of elements of a packed list")]
    [InlineData("EBMTAAAAAwCBYQKBMQKBYgKBMgL/CwCPpS/4sehK3w==", "HLEN k", "2", "the number of elements of a packed list")]
    [InlineData("ERERAAAACACBYQIBAYFiAgIB/wsAVozyOqne1U4=", "ZRANGE k 0 -1 WITHSCORES", "[a 1 b 2]", "the number of elements of a packed list")]
    [InlineData("FA0NAAAABQCBYQKBYgL/CwA4LstoLqbLsg==", "SCARD k", "2", "the number of elements of a packed list")]
    [InlineData("EgECDQ0AAAAHAIFhAoFiAv8LAP+sQHXLbpyc", "LRANGE k 0 -1", "[a b]", "the number of elements of a packed list")]
    [InlineData("GRicck4YCQAAHx8AAAAGAIFiAoEyAgABgWECgTEC9Bicck4YCQAACf8MAOgtSmB96bGB", "HPEXPIRETIME k FIELDS 2 a b", "[9999999999000 -1]", "the order of its fields by their expiries")]
    [InlineData("CwwCAAAAAgAAAAIAAQALAPC2IuP3+E0W", "SMISMEMBER k 1 2 3", "[1 1 0]", "the order of its integers")]
    [InlineData("FQEQAAAAAAAAAAEAAAAAAAAAADMzAAAAFAADAQABAQGBZgIAAQIBAAEAAYF2AgQBAgEBAQABgXYCBAECAQIBAAGBdgIEAf8DAwBAYwkAAAMACwBbRxpxIfKaQA==", "XINFO STREAM k", "recorded-first-entry-id 1-0", null)]
    [InlineData("FQEQAAAAAAAAAAEAAAAAAAAAADMzAAAAFAADAQABAQGBZgIAAQIBAAEAAYF2AgQBAgEBAQABgXYCBAECAQIBAAGBdgIEAf8DAwABAEBjCQMACwBprLd3YLsZGA==", "XINFO STREAM k", "max-deleted-entry-id 99-9", null)]
    [InlineData("FQEQAAAAAAAAAAEAAAAAAAAAADMzAAAAFAADAQABAQGBZgIAAQIBAAEAAYF2AgQBAgEBAQABgXYCBAECAQIBAAGBdgIEAf8DAwABAAAAAwEBZwIAQGMCAAAAAAAAAAEAAAAAAAAAAOgDAAAAAAAAAQAAAAAAAAACAAAAAAAAAADoAwAAAAAAAAEBAWPoAwAAAAAAAOgDAAAAAAAAAgAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAgAAAAAAAAAACwCNIgMLPZVmMA==", "XLEN k", "3", null)]
    [InlineData("GQUAAAAAAAAAHx8AAAAGAIFhAoExAvQYnHJOGAkAAAmBYgKBMgIAAf8MAPM0TCCAJozD", "HPEXPIRETIME k FIELDS 1 a", "[9999999999000]", null)]
    [InlineData("Gf+fck4YCQAAHx8AAAAGAIFhAoExAvQYnHJOGAkAAAmBYgKBMgIAAf8MACxZTulxyk8W", "HPEXPIRETIME k FIELDS 1 a", "[9999999999000]", null)]
    [InlineData("ERERAAAABACBYgICAYFhAgEB/wsAn4CF7LVvIM4=", "ZRANGE k 0 -1", "[a b]", null)]
    public async Task Value_is_loaded_with_what_its_elements_are(string payload, string command, string reply, string? wrong)
    {
        byte[] dump = Convert.FromBase64String(payload);
        await using DiskServer disk = await DiskServer.StartAsync();
        Assert.Equal("OK", disk.Server.CreateClient().Execute([.. new[] { "RESTORE"u8.ToArray(), "k"u8.ToArray(), "0"u8.ToArray(), dump }.Select(static bytes => (ReadOnlyMemory<byte>)bytes)]).Text);
        Check(disk, command, reply);

        // A file without a sum: the value follows its key.
        await disk.StopAsync();
        using (RedKite.Persistence.Files.IOpenFile file = disk.Files.Create(Path.Combine(disk.Folder, "dump.rdb")))
        {
            byte[] bytes = [.. "REDIS0012"u8, dump[0], 1, (byte)'k', .. dump[1..^VersionAndSumBytes], 255, .. new byte[8]];
            file.Write(0, bytes);
            file.SyncData();
        }

        await disk.StartAsync();
        Check(disk, command, reply);
        Assert.Equal(wrong is not null, disk.LogLines.Any(line => line.Contains($"the value states {wrong ?? ""}", StringComparison.Ordinal) && line.Contains("database 0, key", StringComparison.Ordinal)));
        Assert.Equal(wrong is not null, disk.LogLines.Any(static line => line.Contains("dump.rdb: 1 values stated something wrongly", StringComparison.Ordinal)));

        // What it is then is written, and states everything rightly.
        disk.LogLines.Clear();
        Assert.Equal("OK", disk.Run("SAVE").Text);
        disk.Set("sanitize-dump-payload", "yes");
        await disk.RestartAsync();
        Assert.Equal(1, disk.Run("DBSIZE").Integer);
        Assert.DoesNotContain(disk.LogLines, static line => line.Contains("wrongly", StringComparison.Ordinal));

        // Unless such values are to be refused.
        using RespConnection client = RespConnection.Connect(disk.Server.Port);
        foreach (string sanitize in (string[])["yes", "clients", "no"])
        {
            client.Run("CONFIG SET sanitize-dump-payload " + sanitize);
            RespValue restored = client.Run("RESTORE"u8.ToArray(), "other"u8.ToArray(), "0"u8.ToArray(), dump, "REPLACE"u8.ToArray());
            Assert.Equal(wrong is null || sanitize == "no" ? "OK" : "ERR Bad data format", restored.Text);
        }
    }

    private static void Check(DiskServer disk, string command, string reply) => Assert.Contains(reply, Shown(disk.Run(command)), StringComparison.Ordinal);

    private static string Shown(RedKiteReply reply) => reply.IsNull ? "(nil)" : reply.Kind == ReplyKind.Array ? $"[{string.Join(' ', reply.Items.Select(Shown))}]" : reply.Text!;
}
