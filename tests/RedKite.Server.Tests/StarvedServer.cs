using System.Text;
using RedKite.Store.Memory;
using RedKite.TestSupport;

namespace RedKite.Server.Tests;

/// <summary>
/// A server that gets no memory from the system while it executes a command. In the place of the process's end, the failing thread
/// goes on with the exception. In commands, {0} stands for a text of 70,000 bytes.
/// </summary>
internal sealed class StarvedServer : IAsyncDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("redkite-crash");
    private readonly TaskCompletionSource<RedKiteCrash> _crash = new(TaskCreationOptions.RunContinuationsAsynchronously); // the server waits for its callback
    private readonly Starving _starving = new();

    internal RedKiteServer Server { get; private set; } = null!;

    internal static async Task<StarvedServer> StartAsync(bool hasBehavior = true)
    {
        var starved = new StarvedServer();
        var options = new RedKiteOptions { Port = 0, BeforeFailStop = crash => starved._crash.TrySetResult(crash) };
        options.Settings["logfile"] = Path.Combine(starved._folder.FullName, "redkite.log");
        options.Settings["enable-debug-command"] = "yes";
        if (hasBehavior) options.Behaviors.Add(starved._starving);
        starved.Server = await RedKiteServer.StartAsync(options);
        starved.Server.Engine.Keyspace.FailStop.StandIn(TextWriter.Null, static (_, _) => { });
        return starved;
    }

    internal static byte[] Encode(string line) => CommandLine.Encode([.. Words(line).Select(Encoding.ASCII.GetBytes)]);

    internal RespConnection Connect() => RespConnection.Connect(Server.Port);

    /// <summary>Executes a command with all the memory that it needs.</summary>
    internal RedKiteReply Run(string line) => Server.Execute(Words(line));

    /// <summary>Executes a command without memory, on this thread or on a loop's. False if there is no reply, because the server has failed.</summary>
    internal bool RepliesStarved(string line, bool isInProcess, out bool isError)
    {
        isError = false;
        _starving.Command = line[..line.IndexOf(' ', StringComparison.Ordinal)];
        try
        {
            if (isInProcess)
            {
                isError = Server.Execute(Words(line)).IsError;
                return true;
            }

            using RespConnection client = Connect();
            client.Send(Encode(line));
            client.SetTimeout(NetworkTests.PatienceMs);
            RespValue reply = client.Read();
            Assert.False(reply.IsTimeout);
            isError = reply.IsError;
            return !reply.IsClosed;
        }
        catch (OutOfMemoryException) when (isInProcess)
        {
            return false;
        }
        finally
        {
            _starving.Command = null;
        }
    }

    internal Task<RedKiteCrash> CrashAsync() => _crash.Task.WaitAsync(TimeSpan.FromMilliseconds(NetworkTests.PatienceMs), TestContext.Current.CancellationToken);

    public async ValueTask DisposeAsync()
    {
        await Server.DisposeAsync();
        _folder.Delete(recursive: true);
    }

    private static string[] Words(string line) => [.. CommandLine.SplitText(line).Select(word => word == "{0}" ? new string('x', 70_000) : word)];

    private sealed class Starving : Behavior
    {
        internal string? Command { get; set; }

        public override void Invoke(ref CommandCall call)
        {
            SystemMemory.Refuses = call.Name.Equals(Command, StringComparison.OrdinalIgnoreCase);
            try
            {
                Next.Invoke(ref call);
            }
            finally
            {
                SystemMemory.Refuses = false;
            }
        }
    }
}
