using RedKite.Store.Keyspace;

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
}
