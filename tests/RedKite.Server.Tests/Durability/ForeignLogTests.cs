using System.Text;
using RedKite.Persistence.Files;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Durability;

/// <summary>
/// Logs that no server writes. What is loaded of them is what redis-server 8.0.2 loads, also where a line has a note: it is ended by an error there, or loses what
/// clients may have been promised.
/// </summary>
public sealed class ForeignLogTests
{
    [Theory]
    [InlineData("SET a 1;EXEC;SET b 1", "a=1 b=1")]
    [InlineData("SET a 1;EXEC x;SET b 1", "a=1 b=1")]
    [InlineData("SET a 1;DISCARD;SET b 1", "a=1 b=1")]
    [InlineData("SET a 1;MULTI;SET b 1;MULTI;SET c 1;EXEC;SET d 1", "a=1 b=1 c=1 d=1")]
    [InlineData("SET a 1;MULTI;SET b 1;MULTI;SET c 1;EXEC;SET d 1;EXEC;SET e 1", "a=1 b=1 c=1 d=1 e=1")]
    [InlineData("SET a 1;MULTI x;SET b 1;EXEC x;SET c 1", "a=1 b=1 c=1")]
    [InlineData("SET a 1;WATCH a;SET a 2;SET b 1", "a=2 b=1")]
    [InlineData("SET a 1;WATCH a;SET a 2;MULTI;SET b 1;EXEC;SET c 1", "a=2 b=1 c=1")] // there: without b
    [InlineData("SET a 1;MULTI;WATCH a;SET b 1;EXEC;SET c 1", "a=1 b=1 c=1")]
    [InlineData("SET a 1;MULTI;UNWATCH;SET b 1;EXEC;UNWATCH;SET c 1", "a=1 b=1 c=1")]
    [InlineData("SET a 1;MULTI;SET b 1;DISCARD;SET c 1;EXEC;SET d 1", "a=1 b=1 c=1 d=1")] // there: a crash
    [InlineData("SET a 1;MULTI;SET b;SET c 1;EXEC;SET d 1", "a=1 c=1 d=1")] // there: a crash
    [InlineData("SET a 1;MULTI;INCR a;LPUSH a x;SET c 1;EXEC;SET d 1", "a=2 c=1 d=1")]
    [InlineData("SET a 1;BLPOP x 0;SET c 1", "a=1 c=1")]
    [InlineData("SET a 1;RPUSH x 1;BLPOP x 0;BLMOVE x y LEFT LEFT 0;BZPOPMIN z 0;XREAD BLOCK 0 STREAMS s $;SET c 1", "a=1 c=1")]
    [InlineData("SET a 1;MULTI;BLPOP x 0;SET b 1;EXEC;SET c 1", "a=1 b=1 c=1")]
    [InlineData("SET a 1;WAIT 1 0;WAITAOF 1 0 0;SET c 1", "a=1 c=1")]
    [InlineData("SET a 1;SUBSCRIBE x;MONITOR;SET c 1", "a=1 c=1")]
    [InlineData("SET a 1;SHUTDOWN NOSAVE;SET c 1", "a=1 c=1")]
    [InlineData("SET a 1;REPLICAOF 127.0.0.1 1;SET c 1", "a=1 c=1")]
    [InlineData("SET a 1;MULTI;SET b 1;REPLICAOF 127.0.0.1 1;FAILOVER;SHUTDOWN NOSAVE;SYNC;SAVE;SET c 1;EXEC;SET d 1", "a=1 b=1 c=1 d=1")]
    [InlineData("SET a 1;QUIT;AUTH x;HELLO 3;RESET;SET c 1", "a=1 c=1")]
    public async Task Log_is_loaded(string commands, string expected)
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes");
        await Load(disk, Encoded(commands));
        Assert.Equal(expected, Strings(disk));
        Assert.Contains("role:master", disk.Run("INFO replication").Text, StringComparison.Ordinal);

        // It goes on in the same file, and has the same data again.
        Assert.Equal("OK", disk.Run("SET z 1").Text);
        await disk.RestartAsync();
        Assert.Equal(expected + " z=1", Strings(disk));
    }

    [Theory]
    [InlineData("SET a 1;MULTI;SET b 1", "a=1", "SET a 1")]
    [InlineData("SET a 1;MULTI x;SET b 1", "a=1", "SET a 1")]
    [InlineData("SET a 1;MULTI;SET b 1;DISCARD;SET c 1", "a=1", "SET a 1")]
    [InlineData("SET a 1;MULTI;SET b 1;MULTI;SET c 1", "a=1", "SET a 1")] // there: is cut behind SET b, and the next start loses what follows
    [InlineData("SET a 1;MULTI;SET b 1;RESET;SET c 1", "a=1", "SET a 1")]
    [InlineData("SET a 1;MULTI;SET b 1;cut", "a=1", "SET a 1")] // there: is cut behind SET b
    [InlineData("SET a 1;cut", "a=1", "SET a 1")]
    public async Task Log_that_ends_within_a_transaction_is_cut_before_it(string commands, string expected, string kept)
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes");
        await Load(disk, Encoded(commands));
        Assert.Equal(expected, Strings(disk));
        Assert.Equal("OK", disk.Run("SET z 1").Text);
        await disk.StopAsync();
        Assert.Equal(Encoded(kept), Encoding.Latin1.GetString(disk.Files.Content(LogOf(disk)))[..Encoded(kept).Length]);
        await disk.StartAsync();
        Assert.Equal(expected + " z=1", Strings(disk));

        disk.Set("aof-load-truncated", "no");
        await Assert.ThrowsAnyAsync<Exception>(() => Load(disk, Encoded(commands)));
    }

    private static async Task Load(DiskServer disk, string log)
    {
        await disk.StopAsync();
        using (IOpenFile file = disk.Files.Create(LogOf(disk)))
        {
            file.Write(0, Encoding.Latin1.GetBytes(log));
            file.SyncData();
        }

        await disk.StartAsync();
    }

    private static string LogOf(DiskServer disk) => Path.Combine(disk.Folder, "appendonlydir", "appendonly.aof.1.incr.aof");

    private static string Encoded(string commands) => string.Concat(commands.Split(';').Select(static command =>
        command == "cut" ? "*3\r\n$3\r\nSET\r\n$1" : Encoding.Latin1.GetString(CommandLine.Encode(CommandLine.Split(command)))));

    private static string Strings(DiskServer disk) => string.Join(' ', disk.Run("KEYS ?").Items
        .Select(static key => key.Text!).Order(StringComparer.Ordinal).Where(key => disk.Run("TYPE " + key).Text == "string").Select(key => $"{key}={disk.Run("GET " + key).Text}"));
}
