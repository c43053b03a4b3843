using RedKite.Server.Durability;

namespace RedKite.Server.Tests.Durability;

/// <summary>
/// Threads that end the log, save or begin a snapshot may come when the server has stopped: then the keys' memory is gone, and they do nothing.
/// </summary>
public sealed class EndOfDurabilityTests
{
    [Fact]
    public async Task A_thread_that_comes_after_the_end_saves_nothing()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        DurabilityService durability = disk.Server.Parts.Durability;
        await disk.Server.StopAsync();
        string[] files = Directory.GetFiles(disk.Folder);
        Assert.Null(durability.SaveAtStop()); // of a SHUTDOWN that has waited for replicas
        Assert.False(durability.TrySave(static () => false, out _));
        Assert.NotEqual(BackgroundStart.Started, durability.BeginSave(schedules: false));
        Assert.NotEqual(BackgroundStart.Started, durability.BeginRewrite());
        Assert.False(durability.TryBegin("late", () => Assert.Fail("It begins.")));
        Assert.False(durability.TryBeginSynchronization(() => Assert.Fail("It begins.")));
        Assert.Equal(files, Directory.GetFiles(disk.Folder));
        Assert.False(durability.IsSaving); // and none waits for ever
    }

    [Fact]
    public async Task The_thread_that_ends_the_log_ends_itself_when_the_server_has_stopped()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        DurabilityService durability = disk.Server.Parts.Durability;
        await disk.Server.StopAsync();
        Thread thread = durability.ApplyAppendOnly()!; // CONFIG SET appendonly no, whose thread begins late
        Assert.True(thread.Join(60_000));
    }

    [Fact]
    public async Task Two_threads_may_end_the_log()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes");
        LogKeeper log = disk.Server.Parts.Durability.Log;
        var ends = Enumerable.Range(0, 4).Select(_ => new Thread(() => log.Stop())).ToList();
        ends.ForEach(thread => thread.Start());
        Assert.All(ends, thread => Assert.True(thread.Join(60_000)));
        Assert.Null(log.Log);
    }
}
