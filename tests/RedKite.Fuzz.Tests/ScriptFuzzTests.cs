using System.Text;
using RedKite.TestSupport;

namespace RedKite.Fuzz.Tests;

/// <summary>
/// Generated and damaged Lua texts through EVAL and FUNCTION LOAD, damaged payloads through FUNCTION RESTORE and RESTORE: the server stays alive, other
/// clients are served, every value that was restored can be read, and all memory returns.
/// </summary>
public class ScriptFuzzTests
{
    private const int GateRounds = 400;
    private const int RoundsBetweenMemoryChecks = 500;
    private const int FunctionMarker = 0xf5;
    private const int WatchedEveryMs = 100;
    private const long EndlessNs = 1_000_000_000;

    [Fact]
    public async Task Scripts_and_payloads_leave_the_server_intact()
    {
        await using FuzzedServer server = await FuzzedServer.StartAsync("epoll");
        RedKiteSession client = server.Server.CreateSession();
        RedKiteSession witness = server.Server.CreateSession();
        // Damage turns a loop's end into 1e300 at times. What has written is ended as well, which SCRIPT KILL refuses.
        await using var watchdog = new Timer(_ => EndEndless(server), null, WatchedEveryMs, WatchedEveryMs);
        int rounds = 0, returned = 0, loaded = 0, restored = 0;
        await FuzzRun.RunAsync(GateRounds, seed =>
        {
            var random = new Random(seed);
            byte[][] request = Request(random, client);
            try
            {
                RedKiteReply reply = client.Execute([.. request.Select(word => (ReadOnlyMemory<byte>)word)]);
                string name = Encoding.Latin1.GetString(request[0]);
                if (!reply.IsError && name.StartsWith("EVAL", StringComparison.Ordinal)) returned++;
                if (!reply.IsError && name == "FUNCTION") loaded++;
                if (!reply.IsError && name == "RESTORE")
                {
                    restored++;
                    Read(client);
                }

                client.Reset();
                RedKiteReply alive = witness.Execute("PING");
                if (alive.Text != "PONG") throw new FuzzFailureException($"PING was answered with {alive}.");
                if (witness.Execute("EVAL", "return tostring(#KEYS) .. type(redis.call)", "1", "k").Text != "1function") throw new FuzzFailureException("A script changed what others see.");
                if (++rounds % RoundsBetweenMemoryChecks == 0) Check(server, witness);
            }
            catch (Exception failure)
            {
                throw new FuzzFailureException($"{failure.Message}\n{FuzzedServer.Shown(CommandLine.Encode(request))}", failure);
            }

            return Task.CompletedTask;
        });
        Check(server, witness);
        Assert.True(returned > 0 && loaded > 0 && restored > 0, $"{returned} scripts returned, {loaded} libraries were loaded and {restored} values restored in {rounds} rounds: the texts are too bad to prove anything.");
    }

    private static void EndEndless(FuzzedServer server)
    {
        if (server.Server.Engine.Script.Current is { ElapsedNs: > EndlessNs } run) run.IsKilled = true;
    }

    private static byte[][] Request(Random random, RedKiteSession client) => random.Next(10) switch
    {
        < 5 => [Text(random.Next(4) == 0 ? "EVAL_RO" : "EVAL"), ScriptGrammar.Script(random), Text("2"), Text("k"), Text("l"), Text("1"), Text("x")],
        5 => [Text("FUNCTION"), Text("LOAD"), Text("REPLACE"), ScriptGrammar.Library(random)],
        6 => [Text(random.Next(2) == 0 ? "FCALL" : "FCALL_RO"), Text($"f{random.Next(8)}"), Text("1"), Text("k"), Text("x")],
        7 => [Text("FUNCTION"), Text("RESTORE"), Libraries(random), Text(random.Next(2) == 0 ? "FLUSH" : "REPLACE")],
        _ => [Text("RESTORE"), Text("restored"), Text("0"), RequestGrammar.Dump(random), Text("REPLACE")],
    };

    // Each library behind its marker and length, some bytes damaged, and a valid checksum.
    private static byte[] Libraries(Random random)
    {
        List<byte> value = [];
        for (int libraries = random.Next(1, 4); libraries > 0; libraries--)
        {
            byte[] library = ScriptGrammar.Library(random);
            value.Add(FunctionMarker);
            if (library.Length < 64) value.Add((byte)library.Length);
            else value.AddRange([(byte)(0x40 | (library.Length >> 8 & 0x3f)), (byte)library.Length]);
            value.AddRange(library);
        }

        for (int damages = random.Next(2) == 0 ? random.Next(1, 4) : 0; damages > 0; damages--) value[random.Next(value.Count)] = (byte)random.Next(256);
        return RedisDumps.Seal(value);
    }

    // Reading walks over all of it.
    private static void Read(RedKiteSession client)
    {
        client.Execute("DEBUG", "DIGEST-VALUE", "restored");
        RedKiteReply dump = client.Execute("DUMP", "restored");
        if (dump.IsError) throw new FuzzFailureException($"DUMP of what was restored was answered with {dump}.");
        client.Execute("MEMORY", "USAGE", "restored");
    }

    // Scripts and functions are flushed too: their interpreters grow up to their limit only.
    private static void Check(FuzzedServer server, RedKiteSession witness)
    {
        server.AssertInvariants();
        if (witness.Execute("DEBUG", "DIGEST").IsError) throw new FuzzFailureException("DEBUG DIGEST failed.");
        witness.Execute("SCRIPT", "FLUSH");
        witness.Execute("FUNCTION", "FLUSH");
        server.AssertMemoryReturns();
    }

    private static byte[] Text(string text) => Encoding.Latin1.GetBytes(text);
}
