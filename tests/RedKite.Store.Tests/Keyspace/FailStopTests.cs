using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Text;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Lists;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Store.Tests.Keyspace;

public sealed class FailStopTests : IDisposable
{
    private const string CrashVariable = "REDKITE_TEST_CRASH_FOLDER";

    private readonly KeyStore _store = new(8, 1);
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("redkite-crash");
    private readonly List<string> _events = [];
    private readonly StringWriter _errors = new();

    public FailStopTests()
    {
        _store.FailStop.Prepare(_folder.FullName, "1.2.3");
        _store.FailStop.StandIn(_errors, (message, failure) => _events.Add($"terminate {_store.Stripes[3].IsLocked} {failure.Message}"));
    }

    public void Dispose()
    {
        _store.Dispose();
        _errors.Dispose();
        _folder.Delete(recursive: true);
    }

    [Fact]
    public void An_exception_that_escapes_with_stripes_locked_ends_the_process_before_they_are_released()
    {
        Assert.Throws<InvalidOperationException>(() => Execute(StripeSet.Of(3).With(5)));
        Assert.Equal(["terminate True a bug"], _events);
    }

    [Fact]
    public void An_exception_without_a_locked_stripe_propagates()
    {
        Assert.Throws<InvalidOperationException>(() => Execute(StripeSet.Empty));
        Assert.Empty(_events);
        Assert.Empty(_folder.GetFiles());
    }

    [Fact]
    public void The_crash_report_has_the_exception_its_stack_and_the_locks()
    {
        Assert.Throws<InvalidOperationException>(() => Execute(StripeSet.Of(3).With(5)));
        FileInfo file = Assert.Single(_folder.GetFiles());
        Assert.Contains(file.FullName, _errors.ToString(), StringComparison.Ordinal);
        Assert.Matches(@"^redkite-crash-\d{8}-\d{6}-\d+\.txt$", file.Name);
        string report = File.ReadAllText(file.FullName);
        Assert.StartsWith("RedKite 1.2.3 has stopped", report, StringComparison.Ordinal);
        Assert.Matches(@"time: +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC", report);
        Assert.Contains("command:    lpush", report, StringComparison.Ordinal);
        Assert.Contains("stripes:    3, 5", report, StringComparison.Ordinal);
        Assert.Contains("System.InvalidOperationException: a bug", report, StringComparison.Ordinal);
        string stack = report[report.IndexOf("stack:", StringComparison.Ordinal)..];
        Assert.Contains(nameof(Fail), stack, StringComparison.Ordinal); // not unwound yet
        Assert.Contains(nameof(Execute), stack, StringComparison.Ordinal);
    }

    [Fact]
    public void A_report_that_cannot_be_written_to_its_folder_goes_to_the_systems_temporary_folder()
    {
        CrashReport? seen = null;
        _store.FailStop.Prepare(Path.Combine(_folder.FullName, "missing"), "1.2.3");
        _store.FailStop.Ending += report => seen = report;
        Assert.Throws<InvalidOperationException>(() => Execute(StripeSet.Of(3)));
        Assert.Equal(Path.GetTempPath().TrimEnd('/'), Path.GetDirectoryName(seen!.Path));
        Assert.Equal(seen.Text, File.ReadAllText(seen.Path!));
        File.Delete(seen.Path!);
    }

    [Fact]
    public void The_hosts_callback_runs_first_and_may_fail()
    {
        _store.FailStop.Ending += report =>
        {
            _events.Add($"callback {report.Failure.Message}, {report.Command}, {report.Held}, {File.Exists(report.Path)}");
            throw new FormatException();
        };
        Assert.Throws<InvalidOperationException>(() => Execute(StripeSet.Of(3)));
        Assert.Equal(["callback a bug, lpush, 3, True", "terminate True a bug"], _events);
    }

    [Fact]
    public void Without_memory_to_describe_the_failure_a_report_made_in_advance_is_written()
    {
        _store.FailStop.StandIn(_errors, (message, _) => _events.Add(message));
        Assert.ThrowsAny<Exception>(() => Execute(StripeSet.Of(3), new IndescribableException()));
        FileInfo file = Assert.Single(_folder.GetFiles());
        Assert.Matches(@"^redkite-crash-\d{8}-\d{6}-\d+-memory\.txt$", file.Name);
        Assert.Equal([$"RedKite: an exception escaped while keys were locked. Crash report: {file.FullName}"], _events);
        string report = File.ReadAllText(file.FullName);
        Assert.StartsWith("RedKite 1.2.3 has stopped", report, StringComparison.Ordinal);
        Assert.EndsWith("command:    lpush\n", report, StringComparison.Ordinal);
    }

    [Fact]
    public void A_report_made_in_advance_goes_to_the_systems_temporary_folder_if_its_own_is_gone()
    {
        string message = "";
        _store.FailStop.Prepare(Path.Combine(_folder.FullName, "missing"), "1.2.3");
        _store.FailStop.StandIn(_errors, (last, _) => message = last);
        Assert.ThrowsAny<Exception>(() => Execute(StripeSet.Of(3), new IndescribableException()));
        string path = message[(message.IndexOf("Crash report: ", StringComparison.Ordinal) + "Crash report: ".Length)..];
        Assert.Equal(Path.GetTempPath().TrimEnd('/'), Path.GetDirectoryName(path));
        Assert.Contains("lpush", File.ReadAllText(path), StringComparison.Ordinal);
        File.Delete(path);
    }

    [Fact]
    public void Writing_a_report_made_in_advance_allocates_nothing()
    {
        if (!OperatingSystem.IsLinux()) return;
        var report = new PreparedReport(_folder.FullName, "1.2.3");
        string longCommand = new('x', 100); // cut, not refused
        long before = GC.GetAllocatedBytesForCurrentThread();
        bool isWritten = report.TryWrite(longCommand);
        long allocated = GC.GetAllocatedBytesForCurrentThread() - before;
        Assert.True(isWritten);
        Assert.Equal(0, allocated);
        Assert.EndsWith(new string('x', 64) + "\n", File.ReadAllText(Assert.Single(_folder.GetFiles()).FullName), StringComparison.Ordinal);
    }

    [Fact]
    public void A_failing_sweep_ends_the_process()
    {
        var broken = new KeyStore(8, 1); // never freed
        broken.FailStop.Prepare(_folder.FullName, "1.2.3");
        broken.FailStop.StandIn(TextWriter.Null, (message, failure) => _events.Add($"terminate {broken.Stripes[3].IsLocked} {failure.Message}"));
        broken.Stripes[3].Drop(null!, keys: 0);
        Assert.Throws<NullReferenceException>(() => new BackgroundSweep(broken, 0, 1).Run(0, long.MaxValue, expire: true));
        Assert.StartsWith("terminate True", Assert.Single(_events), StringComparison.Ordinal);
        Assert.Contains("background sweep", File.ReadAllText(Assert.Single(_folder.GetFiles()).FullName), StringComparison.Ordinal);
    }

    [Fact]
    public void A_sweep_without_memory_ends_the_process()
    {
        var starved = new KeyStore(1, 1, guarded: true); // never freed
        starved.FailStop.Prepare(_folder.FullName, "1.2.3");
        starved.FailStop.StandIn(TextWriter.Null, (message, failure) => _events.Add($"terminate {starved.Stripes[0].IsLocked} {failure is OutOfMemoryException}"));
        ListValue list = ListValue.Create(starved.Databases[0], "list"u8, starved.Hash("list"u8), new ListLimits(128, 0), 0);
        for (int i = 0; i < 20_000; i++)
        {
            byte[] element = Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"element:{i}"));
            list.PrepareFor(element.Length, 1);
            list.PushLast(element);
        }

        var sweep = new BackgroundSweep(starved, 0, 1);
        SystemMemory.Refuses = true;
        try
        {
            Assert.ThrowsAny<OutOfMemoryException>(() =>
            {
                for (int i = 0; i < 1_000; i++) sweep.Run(0, long.MaxValue, expire: true);
            });
        }
        finally
        {
            SystemMemory.Refuses = false;
        }

        Assert.Equal("terminate True True", Assert.Single(_events));
        Assert.Contains("background sweep", File.ReadAllText(Assert.Single(_folder.GetFiles()).FullName), StringComparison.Ordinal);
    }

    [Fact]
    public void The_process_really_ends()
    {
        using Process child = Process.Start(new ProcessStartInfo(Environment.ProcessPath!, typeof(FailStopTests).Assembly.Location)
        {
            Environment = { [CrashVariable] = _folder.FullName, ["DOTNET_DbgEnableMiniDump"] = "0" },
            RedirectStandardError = true,
        })!;
        string errors = child.StandardError.ReadToEnd();
        Assert.True(child.WaitForExit(30_000));
        Assert.NotEqual(0, child.ExitCode);
        FileInfo file = Assert.Single(_folder.GetFiles());
        Assert.Contains($"Crash report: {file.FullName}", errors, StringComparison.Ordinal);
        Assert.DoesNotContain("unwound", errors, StringComparison.Ordinal);
    }

    // The child of the test above: the program of the tests, which does not come as far as running any.
    [ModuleInitializer]
    internal static void CrashIfAsked()
    {
        if (Environment.GetEnvironmentVariable(CrashVariable) is not { } folder) return;
        var store = new KeyStore(8, 1);
        store.FailStop.Prepare(folder, "1.2.3");
        using LockScope locked = store.LockAll();
        try
        {
            Fail(new InvalidOperationException("a bug"));
        }
        catch (Exception failure) when (store.FailStop.Ends(failure, locked.Held, command: null))
        {
            throw;
        }
        finally
        {
            Console.Error.WriteLine("unwound");
        }
    }

    private void Execute(StripeSet stripes) => Execute(stripes, new InvalidOperationException("a bug"));

    private void Execute(StripeSet stripes, Exception thrown)
    {
        using LockScope locked = _store.Lock(stripes);
        try
        {
            Fail(thrown);
        }
        catch (Exception failure) when (_store.FailStop.Ends(failure, locked.Held, "lpush"))
        {
            throw;
        }
    }

    private static void Fail(Exception thrown) => throw thrown;

    private sealed class IndescribableException : Exception
    {
        public override string ToString() => throw new InsufficientMemoryException();
    }
}
