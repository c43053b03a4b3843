using System.Globalization;
using RedKite.Server.Model;

namespace RedKite.Server.Tests.Execution.Transactions;

/// <summary>Transactions of a caller in the process: limits, what is counted, and commands that lock by themselves.</summary>
public sealed class TransactionTests : TranscriptTests
{
    [Fact]
    public void Too_many_commands_or_bytes_refuse_the_transaction()
    {
        Assert.Equal("OK", Run("CONFIG SET max-transaction-commands 2 client-query-buffer-limit 1mb").Text);
        Run("MULTI");
        Run("SET a 1");
        Run("SET b 1");
        Assert.Equal("ERR the transaction has too many commands, see max-transaction-commands", Run("SET c 1").Text);
        Assert.StartsWith("EXECABORT", Run("EXEC").Text, StringComparison.Ordinal);
        Run("MULTI");
        string half = new('x', 600_000);
        Assert.Equal("QUEUED", Run("SET a " + half).Text);
        Assert.Equal("ERR the transaction is larger than client-query-buffer-limit", Run("SET b " + half).Text);
        Assert.StartsWith("EXECABORT", Run("EXEC").Text, StringComparison.Ordinal);
        Assert.Equal(0, Run("DBSIZE").Integer);
    }

    [Fact]
    public void Too_many_watched_keys_are_refused()
    {
        Run("CONFIG SET max-watched-keys 3");
        Assert.Equal("OK", Run("WATCH a b").Text);
        Assert.Equal("ERR too many watched keys, see max-watched-keys", Run("WATCH c d").Text);
        Assert.Equal(2, Server.Engine.Watched.Count);
        Assert.Equal("OK", Run("WATCH c").Text);
        Run("UNWATCH");
        Assert.Equal((0, 0), (Server.Engine.Watched.Count, Server.Engine.Watched.Clients));
    }

    [Fact]
    public void Client_that_ends_watches_nothing()
    {
        using (RedKiteSession other = Server.CreateSession())
        {
            other.Execute("WATCH", "a", "b", "c");
            Assert.Equal((3, 1), (Server.Engine.Watched.Count, Server.Engine.Watched.Clients));
        }

        Assert.Equal((0, 0), (Server.Engine.Watched.Count, Server.Engine.Watched.Clients));
        Assert.All(Server.Engine.Keyspace.Stripes, stripe => Assert.Equal(RedKite.Store.Keyspace.StripeObservers.None, stripe.Observers));
    }

    // A command that would lock stripes one by one ends the process if its row does not say so.
    [Fact]
    public void Every_command_can_be_queued_and_executed()
    {
        string[] left = ["shutdown", "replicaof", "slaveof", "exec", "discard", "multi", "watch", "quit", "reset", "monitor", "debug"];
        foreach (Command command in Server.Engine.Commands.All)
        {
            if (left.Contains(command.Name) || left.Contains(command.Parent?.Name ?? "")) continue;
            Run("FLUSHALL");
            Run("MULTI");
            string name = command.FullName.Replace('|', ' ');
            int arguments = Math.Max(0, Math.Abs(command.Arity) - name.Split(' ').Length);
            RedKiteReply queued = Run(name + string.Concat(Enumerable.Repeat(" 0", arguments)));
            Run("PING");
            RedKiteReply executed = Run("EXEC");
            if (queued.Text == "QUEUED") Assert.Equal("PONG", executed.Items[^1].Text);
            else Assert.StartsWith("EXECABORT", executed.Text, StringComparison.Ordinal);
        }

        Run("MULTI");
        foreach (string walk in (string[])["SCAN 0", "KEYS *", "RANDOMKEY", "DBSIZE", "INFO everything", "MEMORY PURGE", "MEMORY STATS", "CONFIG SET notify-keyspace-events KEA", "FLUSHALL", "SWAPDB 0 1"])
        {
            Assert.Equal("QUEUED", Run(walk).Text);
        }

        Assert.Equal(10, Run("EXEC").Items.Count);
    }

    [Fact]
    public void Transactions_are_counted_and_their_commands_one_by_one()
    {
        Run("MULTI");
        Run("SET k 1");
        Run("LPUSH k 1");
        Run("EXEC");
        Run("WATCH k");
        Run("SET k 2");
        Run("MULTI");
        Run("EXEC");
        string info = Run("INFO commandstats").Text!;
        Assert.Contains("cmdstat_set:calls=2", info, StringComparison.Ordinal);
        Assert.Matches("cmdstat_lpush:calls=1,.*failed_calls=1", info);
        Assert.Matches("cmdstat_exec:calls=2,.*failed_calls=0", info);
    }

    [Fact]
    public async Task Sums_never_change_while_clients_transfer_between_keys()
    {
        const int Accounts = 8;
        const int Transfers = 400;
        for (int i = 0; i < Accounts; i++) Run(string.Create(CultureInfo.InvariantCulture, $"SET account:{i} 100"));
        using var ended = new CancellationTokenSource();
        Task watching = Task.Run(Watch, TestContext.Current.CancellationToken);
        Task<int>[] transferring = [.. Enumerable.Range(0, 4).Select(seed => Task.Run(() => Transfer(seed), TestContext.Current.CancellationToken))];
        int refused = (await Task.WhenAll(transferring).WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken)).Sum();
        await ended.CancelAsync();
        await watching.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
        TestContext.Current.SendDiagnosticMessage($"{refused} transfers were refused and made again");

        void Watch()
        {
            using RedKiteSession reader = Server.CreateSession();
            while (!ended.IsCancellationRequested)
            {
                reader.Execute("MULTI");
                for (int i = 0; i < Accounts; i++) reader.Execute("GET", Account(i));
                Assert.Equal(Accounts * 100, reader.Execute("EXEC").Items.Sum(item => int.Parse(item.Text!, CultureInfo.InvariantCulture)));
            }
        }

        // Reads, then writes what it computed: right only if WATCH sees every change in between.
        int Transfer(int seed)
        {
            using RedKiteSession client = Server.CreateSession();
            var random = new Random(seed);
            int again = 0;
            for (int done = 0; done < Transfers;)
            {
                string from = Account(random.Next(Accounts));
                string to = Account(random.Next(Accounts));
                if (from == to) continue;
                client.Execute("WATCH", from, to);
                int left = int.Parse(client.Execute("GET", from).Text!, CultureInfo.InvariantCulture);
                int right = int.Parse(client.Execute("GET", to).Text!, CultureInfo.InvariantCulture);
                client.Execute("MULTI");
                client.Execute("SET", from, (left - 1).ToString(CultureInfo.InvariantCulture));
                client.Execute("SET", to, (right + 1).ToString(CultureInfo.InvariantCulture));
                if (client.Execute("EXEC").IsNull) again++;
                else done++;
            }

            return again;
        }

        static string Account(int index) => string.Create(CultureInfo.InvariantCulture, $"account:{index}");
    }
}
