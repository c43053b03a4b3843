using RedKite.TestSupport;

namespace RedKite.Server.Tests;

/// <summary>
/// Clients on all loops move amounts between the same few keys in every way that is atomic, while others add them up: the sum never
/// changes, and nothing hangs.
/// </summary>
public sealed class TransferRaceTests : NetworkTests
{
    private const int Accounts = 8;
    private const int Total = Accounts * 1000;
    private const int Movers = 6;
    private const int Readers = 2;
    private const int TransfersPerMover = 400;
    private const int ReplyTimeoutMs = 60_000;

    private const string Library = "#!lua name=bank\\nlocal function move(from, to) redis.call('decrby', from, 3) redis.call('incrby', to, 3) return 1 end\\n"
        + "redis.register_function('declared', function(keys) return move(keys[1], keys[2]) end)\\n"
        + "redis.register_function('undeclared', function(keys, args) return move(args[1], args[2]) end)";

    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(90);

    private static readonly string[] Names = [.. Enumerable.Range(0, Accounts).Select(i => $"account{i}")];

    private static readonly Action<RespConnection, string, string>[] Ways =
    [
        ByTransaction,
        ByWatch,
        (client, from, to) => client.Run($"EVAL \"redis.call('decrby', KEYS[1], 3) redis.call('incrby', KEYS[2], 3) return 1\" 2 {from} {to}").IsInteger(1),
        (client, from, to) => client.Run($"EVAL \"redis.call('decrby', ARGV[1], 3) redis.call('incrby', ARGV[2], 3) return 1\" 0 {from} {to}").IsInteger(1),
        (client, from, to) => client.Run($"EVAL \"redis.call('decrby', KEYS[1], 3) redis.call('incrby', ARGV[1], 3) return 1\" 1 {from} {to}").IsInteger(1),
        (client, from, to) => client.Run($"FCALL declared 2 {from} {to}").IsInteger(1),
        (client, from, to) => client.Run($"FCALL undeclared 0 {from} {to}").IsInteger(1),
        ByScriptInTransaction,
    ];

    private static readonly Func<RespConnection, long>[] Sums =
    [
        SumByTransaction,
        client => client.Run($"EVAL \"local n = 0 for i = 0, {Accounts - 1} do n = n + redis.call('get', 'account' .. i) end return n\" 0").Number,
        client => client.Run($"EVAL \"local n = 0 for _, v in ipairs(redis.call('mget', unpack(KEYS))) do n = n + v end return n\" {Accounts} {string.Join(' ', Names)}").Number,
        client => client.Run($"MGET {string.Join(' ', Names)}").Items.Sum(item => item.Number),
    ];

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Sums_never_change_while_transactions_scripts_and_functions_move_amounts(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport);
        RespConnection[] clients = [.. Enumerable.Range(0, Movers + Readers).Select(_ => RespConnection.Connect(server.Port, ReplyTimeoutMs))];
        Assert.Equal(Math.Min(2, Environment.ProcessorCount), clients.Take(Movers).Select(client => LoopOf(server, client)).Distinct().Count());
        foreach (string name in Names) clients[0].Run($"SET {name} {Total / Accounts}").IsOk();
        clients[0].Run($"FUNCTION LOAD \"{Library}\"").IsBulk("bank");

        using var ended = new CancellationTokenSource();
        Task[] movers = [.. clients.Take(Movers).Select((client, seed) => Start(() => Move(client, seed)))];
        int[] checks = new int[Readers];
        Task[] readers = [.. clients.Skip(Movers).Select((client, reader) => Start(() => checks[reader] = Check(client, ended.Token)))];
        try
        {
            await Task.WhenAll(movers).WaitAsync(Limit, TestContext.Current.CancellationToken);
        }
        finally
        {
            await ended.CancelAsync();
        }

        await Task.WhenAll(readers).WaitAsync(Limit, TestContext.Current.CancellationToken);
        Assert.All(checks, made => Assert.InRange(made, 10 * Sums.Length, int.MaxValue));
        foreach (Func<RespConnection, long> sum in Sums) Assert.Equal(Total, sum(clients[0]));
        foreach (RespConnection client in clients) client.Dispose();
    }

    private static Task Start(Action action) => Task.Factory.StartNew(action, TestContext.Current.CancellationToken, TaskCreationOptions.LongRunning, TaskScheduler.Default);

    // Movers begin with different ways, so that all ways meet.
    private static void Move(RespConnection client, int seed)
    {
        var random = new Random(seed);
        for (int i = 0; i < TransfersPerMover; i++)
        {
            int from = random.Next(Accounts);
            int to = (from + random.Next(1, Accounts)) % Accounts;
            Ways[(i + seed) % Ways.Length](client, Names[from], Names[to]);
        }
    }

    private static int Check(RespConnection client, CancellationToken ended)
    {
        int checks = 0;
        for (; !ended.IsCancellationRequested; checks++) Assert.Equal(Total, Sums[checks % Sums.Length](client));
        return checks;
    }

    private static void ByTransaction(RespConnection client, string from, string to)
    {
        client.Send($"MULTI\r\nDECRBY {from} 3\r\nINCRBY {to} 3\r\nEXEC\r\n");
        client.Read().IsOk();
        client.Read().IsSimple("QUEUED");
        client.Read().IsSimple("QUEUED");
        AssertExecuted(client.Read());
    }

    // Reads, then writes what it computed: right only if WATCH sees every change in between.
    private static void ByWatch(RespConnection client, string from, string to)
    {
        RespValue reply;
        do
        {
            client.Run($"WATCH {from} {to}").IsOk();
            long left = client.Run($"GET {from}").Number - 3;
            long right = client.Run($"GET {to}").Number + 3;
            client.Run("MULTI").IsOk();
            client.Run($"SET {from} {left}").IsSimple("QUEUED");
            client.Run($"SET {to} {right}").IsSimple("QUEUED");
            reply = client.Run("EXEC");
        }
        while (reply.IsNull);
        AssertExecuted(reply);
    }

    private static void ByScriptInTransaction(RespConnection client, string from, string to)
    {
        client.Run("MULTI").IsOk();
        client.Run($"DECRBY {from} 3").IsSimple("QUEUED");
        client.Run($"EVAL \"return redis.call('incrby', ARGV[1], 3)\" 0 {to}").IsSimple("QUEUED");
        AssertExecuted(client.Run("EXEC"));
    }

    private static long SumByTransaction(RespConnection client)
    {
        client.Send($"MULTI\r\n{string.Concat(Names.Select(name => $"GET {name}\r\n"))}EXEC\r\n");
        client.Read().IsOk();
        for (int i = 0; i < Accounts; i++) client.Read().IsSimple("QUEUED");
        return client.Read().Items.Sum(item => item.Number);
    }

    private static void AssertExecuted(RespValue reply)
    {
        Assert.Equal(2, reply.Items.Count);
        Assert.All(reply.Items, item => Assert.True(item.IsInteger || item.Text == "OK", item.ToString()));
    }
}
