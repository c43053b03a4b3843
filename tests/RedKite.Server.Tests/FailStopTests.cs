using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Testing;

namespace RedKite.Server.Tests;

public class FailStopTests
{
    [Fact]
    public async Task Host_gets_the_crash_report_before_the_process_ends()
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("redkite-crash");
        var called = new TaskCompletionSource<RedKiteCrash>();
        await using (RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions
        {
            Port = 0,
            Settings = { ["logfile"] = Path.Combine(folder.FullName, "redkite.log") },
            BeforeFailStop = called.SetResult,
        }))
        {
            server.Engine.Keyspace.FailStop.Errors = TextWriter.Null;
            server.Engine.Keyspace.FailStop.Terminate = (_, _) => { }; // the loop ends instead of the process
            Stripe stripe = server.Engine.Keyspace.Stripes[5];
            stripe.Enter();
            stripe.Drop(null!, keys: 0); // the sweep fails when it frees this table
            stripe.Exit();

            RedKiteCrash crash = await called.Task.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
            Assert.IsType<NullReferenceException>(crash.Failure);
            Assert.Equal("background sweep", crash.Command);
            Assert.Equal(folder.FullName, Path.GetDirectoryName(crash.ReportPath));
            Assert.Equal(crash.Report, await File.ReadAllTextAsync(crash.ReportPath!, TestContext.Current.CancellationToken));
            Assert.Contains($"RedKite {ServerVersion.Text} has stopped", crash.Report, StringComparison.Ordinal);
            Assert.Contains("stripes:    5", crash.Report, StringComparison.Ordinal);
        }

        folder.Delete(recursive: true);
    }

    // The system refuses memory while the command's stripe is locked, on a loop's thread or a caller's.
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Refused_memory_ends_in_a_report_that_names_the_command(bool isInProcess)
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("redkite-crash");
        var called = new TaskCompletionSource<RedKiteCrash>();
        var options = new RedKiteOptions
        {
            Port = 0,
            Settings = { ["logfile"] = Path.Combine(folder.FullName, "redkite.log") },
            Behaviors = { new Starving() },
            BeforeFailStop = crash => called.TrySetResult(crash),
        };
        await using (RedKiteServer server = await RedKiteServer.StartAsync(options))
        {
            server.Engine.Keyspace.FailStop.Errors = TextWriter.Null;
            server.Engine.Keyspace.FailStop.Terminate = (_, _) => { };
            string text = new('x', 70_000);
            server.Execute("SET", "key", text);
            using RespConnection? client = isInProcess ? null : RespConnection.Connect(server.Port);
            if (client is null) Assert.NotNull(Record.Exception(() => server.Execute("APPEND", "key", text)));
            else client.SendCommand($"APPEND key {text}");
            RedKiteCrash crash = await called.Task.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
            Assert.IsAssignableFrom<OutOfMemoryException>(crash.Failure);
            Assert.Equal("append", crash.Command);
            Assert.True(File.Exists(crash.ReportPath));
        }

        folder.Delete(recursive: true);
    }

    private sealed class Starving : Behavior
    {
        public override void Invoke(ref CommandCall call)
        {
            SystemMemory.Refuses = call.Name == "append";
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
