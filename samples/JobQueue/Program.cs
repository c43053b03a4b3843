// A job queue on a stream, in process: workers of a consumer group share the jobs, a job is done when it is acknowledged, and the job of a
// worker that failed is taken over by another one. The jobs are in an append-only file, so that a restart continues with them.
using RedKite;

string folder = args.Length > 0 ? args[0] : Directory.CreateTempSubdirectory("jobs-").FullName;
await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Persistence = RedKitePersistence.Log, DataDirectory = folder });
RedKiteClient client = server.CreateClient();

const string Jobs = "jobs";
const string Group = "workers";
if (!client.Exists(Jobs))
{
    client.Execute("XGROUP", "CREATE", Jobs, Group, "0", "MKSTREAM");
    for (int i = 1; i <= 6; i++) client.StreamAdd(Jobs, "invoice", $"{i}");
}

// Ann takes two jobs and fails with the second.
IReadOnlyList<RedKiteStreamEntry> taken = client.StreamReadGroup(Jobs, Group, "ann", count: 2);
Finish("ann", taken[0]);
Console.WriteLine($"ann fails with invoice {InvoiceOf(taken[1])}");

// Bob and Cid share what is left. Both wait for jobs without a thread.
using var closing = new CancellationTokenSource();
Task[] workers = [WorkAsync("bob"), WorkAsync("cid")];
while (client.Execute("XINFO", "GROUPS", Jobs).Items[0].Items[^1].Integer > 0) await Task.Delay(10); // the group's lag: jobs that nobody has taken
await closing.CancelAsync();
await Task.WhenAll(workers);

// What nobody has acknowledged is taken over. In a real queue only after some idle time.
RedKiteReply claimed = client.Execute("XAUTOCLAIM", Jobs, Group, "bob", "0", "0");
foreach (RedKiteReply entry in claimed.Items[1].Items)
{
    string id = entry.Items[0].Text!;
    Console.WriteLine($"bob takes over invoice {entry.Items[1].Items[1]}");
    client.StreamAcknowledge(Jobs, Group, id);
}

Console.WriteLine($"jobs that are not done: {client.Execute("XPENDING", Jobs, Group).Items[0]}");

async Task WorkAsync(string worker)
{
    try
    {
        while (true)
        {
            RedKiteReply reply = await client.ExecuteAsync(["XREADGROUP", "GROUP", Group, worker, "COUNT", "1", "BLOCK", "0", "STREAMS", Jobs, ">"], closing.Token);
            RedKiteReply entry = reply.Items[0].Items[1].Items[0];
            client.StreamAcknowledge(Jobs, Group, entry.Items[0].Text!);
            Console.WriteLine($"{worker} has done invoice {entry.Items[1].Items[1]}");
        }
    }
    catch (OperationCanceledException)
    {
        // closing
    }
}

void Finish(string worker, RedKiteStreamEntry job)
{
    client.StreamAcknowledge(Jobs, Group, job.Id);
    Console.WriteLine($"{worker} has done invoice {InvoiceOf(job)}");
}

static string InvoiceOf(RedKiteStreamEntry job) => System.Text.Encoding.UTF8.GetString(job.Fields[0].Value.Span);
