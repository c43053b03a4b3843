using System.Text;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Durability;

/// <summary>When a client is looked at that is blocked on a key which has expired, the log gets what redis-server writes, in its order.</summary>
public class BlockedEffectsTests
{
    private const int ExpiryMs = 5;

    // The look removes nothing: the key is removed by the command that finds it.
    [Fact]
    public async Task Swapdb_with_an_expired_key_that_a_client_waits_for_removes_it_later()
    {
        await using DiskServer disk = await StartAsync();
        using var client = RespConnection.Connect(disk.Server.Port);
        using var blocked = RespConnection.Connect(disk.Server.Port);
        client.Run("SELECT 1").IsOk();
        client.Run("RPUSH k hello").IsInteger(1);
        client.Run($"PEXPIRE k {ExpiryMs}").IsInteger(1);
        blocked.Run("SELECT 9").IsOk();
        Block(disk, blocked, "k");
        Thread.Sleep(4 * ExpiryMs);
        client.Run("SWAPDB 1 9").IsOk();
        client.Run("SELECT 9").IsOk();
        client.Run("SET other v").IsOk();
        client.Run("EXISTS k").IsInteger(0);
        Assert.EndsWith(" SWAPDB 1 9 SELECT 9 SET other v DEL k", await LogOf(disk), StringComparison.Ordinal);
        client.Run("RPUSH k again").IsInteger(1);
        blocked.Read().IsArray("k", "again");
    }

    // By the time of the unit the key is there, and by that of the blocked command it has expired.
    [Fact]
    public async Task Unit_whose_key_has_expired_when_its_client_is_served_removes_it_at_once()
    {
        await using DiskServer disk = await StartAsync();
        using var client = RespConnection.Connect(disk.Server.Port);
        using var blocked = RespConnection.Connect(disk.Server.Port);
        Block(disk, blocked, "k");
        client.Run("MULTI").IsOk();
        foreach (string command in (string[])["RPUSH k x", $"PEXPIRE k {ExpiryMs}", "DEBUG SLEEP 0.03"]) client.Run(command).IsSimple("QUEUED");
        client.Run("EXEC");
        client.Run("SET other v").IsOk();
        Assert.EndsWith(" EXEC DEL k SET other v", await LogOf(disk), StringComparison.Ordinal);
        client.Run("RPUSH k again").IsInteger(1);
        blocked.Read().IsArray("k", "again");
    }

    private static async Task<DiskServer> StartAsync()
    {
        DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "save", "");
        disk.Run("DEBUG SET-ACTIVE-EXPIRE 0");
        return disk;
    }

    private static void Block(DiskServer disk, RespConnection client, string key)
    {
        client.SendCommand($"BRPOP {key} 0");
        disk.WaitFor(() => disk.Server.Engine.Blocked.Count == 1, "the client is blocked");
    }

    private static async Task<string> LogOf(DiskServer disk)
    {
        Assert.True(await disk.Server.Parts.Durability.Log.Log!.Writer.Flush());
        string log = Encoding.Latin1.GetString(disk.Files.Content(Path.Combine(disk.Folder, "appendonlydir", "appendonly.aof.1.incr.aof")));
        return string.Join(' ', log.Split("\r\n", StringSplitOptions.RemoveEmptyEntries).Where(line => line[0] is not ('*' or '$')));
    }
}
