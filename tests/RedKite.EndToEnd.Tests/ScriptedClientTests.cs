using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>
/// Client libraries of other languages, and the software that is built on them: job queues with their worker processes, session stores, rate limiters,
/// locks, a chat over two processes. Each script makes assertions, prints how many passed, and ends its own worker processes.
/// </summary>
[Collection(RunningServersCollection.Name)]
public sealed class ScriptedClientTests(RunningServers servers)
{
    public static TheoryData<string> Transports => RunningServers.Transports;

    /// <summary>For software on a library whose own test runs on both: the other one in a long run.</summary>
    public static TheoryData<string> TransportsInTurn => TestScale.IsLong ? RunningServers.Transports : OneTransport;

    [Theory]
    [MemberData(nameof(Transports))]
    public Task Python_redis(string transport) => Python("client.py", transport);

    [Theory]
    [MemberData(nameof(TransportsInTurn))]
    public Task Python_redis_transactions_messages_scripts_and_locks(string transport) => Python("atomicity.py", transport);

    [Theory]
    [MemberData(nameof(OneTransport))]
    public Task Python_redis_sketches(string transport) => Python("sketches.py", transport);

    [Theory]
    [MemberData(nameof(OneTransport))]
    public Task Python_redis_series(string transport) => Python("series.py", transport);

    [Theory]
    [MemberData(nameof(OneTransport))]
    public Task Python_redis_documents(string transport) => Python("documents.py", transport);

    [Theory]
    [MemberData(nameof(TransportsInTurn))]
    public Task Python_rq(string transport) => Python("rq_jobs.py", transport);

    [Long]
    [Theory]
    [MemberData(nameof(OneTransport))]
    public Task Python_celery(string transport) => Python("celery_jobs.py", transport);

    [Long]
    [Theory]
    [MemberData(nameof(OneTransport))]
    public Task Ruby_sidekiq(string transport) => Passes("ruby", [Script("ruby", "sidekiq_jobs.rb")], transport);

    [Theory]
    [MemberData(nameof(Transports))]
    public Task Node_redis(string transport) => Node("client.js", transport);

    [Theory]
    [MemberData(nameof(TransportsInTurn))]
    public Task Node_bullmq_and_bee_queue(string transport) => Node("queues.js", transport);

    [Theory]
    [MemberData(nameof(OneTransport))]
    public Task Node_sessions_rate_limits_locks_and_client_side_caching(string transport) => Node("web.js", transport);

    [Theory]
    [MemberData(nameof(OneTransport))]
    public Task Node_socket_io_over_two_processes(string transport) => Node("chat.js", transport);

    /// <summary>For software whose test mostly waits for its own timers and processes.</summary>
    public static TheoryData<string> OneTransport => [ServerProgram.Transports[0]];

    // Debian's own interpreter sees Debian's packages.
    private Task Python(string script, string transport) =>
        Passes(File.Exists("/usr/bin/python3") ? "/usr/bin/python3" : "python3", [Script("python", script)], transport);

    private Task Node(string script, string transport)
    {
        string folder = Path.Combine(ChildProgram.ScriptFolder, "node");
        Assert.True(Directory.Exists(Path.Combine(folder, "node_modules")), $"Run 'npm ci' in {folder}, or './dev test', which does.");
        return Passes("node", [Path.Combine(folder, script)], transport);
    }

    private static string Script(string folder, string name) => Path.Combine(ChildProgram.ScriptFolder, folder, name);

    private async Task Passes(string program, string[] arguments, string transport)
    {
        ChildProgram client = (await ChildProgram.Run(program, [.. arguments, $"{servers.On(transport).Port}"])).Succeeded();
        Assert.Matches("^[0-9]+ statements hold$", client.Lines[^1]);
    }
}
