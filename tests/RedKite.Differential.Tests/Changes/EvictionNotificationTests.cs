using System.Text;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Changes;

/// <summary>
/// Evictions notify alike: both servers get a limit below what they use and a policy that evicts keys with a time to live only. In the end
/// all of those are evicted, in an order that each server chooses, and no other key is.
/// </summary>
public sealed class EvictionNotificationTests
{
    private const string WritesNothing = "SETRANGE refused 0 ''"; // and yet may be refused
    private const int PatienceMs = 60_000;
    private const string End = "__key end";

    private static readonly string[] AllClasses = ["Ee", "Ke", "KEe", "KEA", "KEAnm", "KEg", "e"];

    [Fact]
    public void Same_notifications_of_evicted_keys()
    {
        Assert.SkipWhen(OracleProgram.Redis8 is null, "notifications: " + OracleProgram.Redis8Missing);
        using ServerProcess oracle = Start(OracleProgram.Redis8!), subject = Start(ServerProgram.UnderTest);
        foreach (string classes in AllClasses)
        {
            string[] expected = Evicted(oracle, classes);
            Assert.Equal(expected, Evicted(subject, classes));
            Assert.Equal(classes switch { "Ee" or "Ke" => 20, "KEg" or "e" => 0, _ => 40 }, expected.Count(text => text.Contains("evicted", StringComparison.Ordinal)));
        }
    }

    private static ServerProcess Start(ServerProgram program) => ServerProcess.Start(program, "--maxmemory-policy", "volatile-lru");

    private static string[] Evicted(ServerProcess server, string classes)
    {
        using RespConnection client = server.Connect();
        using RespConnection subscriber = server.Connect();
        client.Run("FLUSHALL").IsOk();
        for (int i = 0; i < 20; i++)
        {
            client.Run($"SET volatile:{i} {new string('v', 100)} EX 10000").IsOk();
            client.Run($"RPUSH kept:{i} a b c").IsInteger(3);
        }

        client.Run(["CONFIG"u8.ToArray(), "SET"u8.ToArray(), "notify-keyspace-events"u8.ToArray(), Encoding.ASCII.GetBytes(classes)]).IsOk();
        subscriber.SendCommand("PSUBSCRIBE __key*");
        subscriber.ReadAny();
        client.Run("CONFIG SET maxmemory 1").IsOk();
        for (int waitedMs = 0; client.Run("DBSIZE").Number > 20; waitedMs++)
        {
            Assert.True(waitedMs < PatienceMs, $"{client.Run("DBSIZE")} keys are left");
            client.Run(WritesNothing);
            Thread.Sleep(1);
        }

        // While memory of evicted keys is being freed, either server lets commands pass.
        for (int waitedMs = 0; !client.Run(WritesNothing).IsError; waitedMs++)
        {
            Assert.True(waitedMs < PatienceMs, "nothing is refused");
            Thread.Sleep(1);
        }

        client.Run(WritesNothing).IsError("OOM command not allowed when used memory > 'maxmemory'.");
        client.Run("CONFIG SET maxmemory 0").IsOk();
        client.Run($"PUBLISH \"{End}\" x").IsInteger(1);
        List<string> messages = [];
        while (true)
        {
            RespValue message = subscriber.ReadAny();
            if (message.Items[2].Text == End) break;
            messages.Add($"{message.Items[2].Text} {message.Items[3].Text}");
        }

        return [.. messages.Order(StringComparer.Ordinal)];
    }
}
