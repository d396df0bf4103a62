from pcpinn.train import Watch


def test_the_cadence_follows_the_iterations():
    assert Watch.of_training(lambda: 1.0, 20_000).every == 100
    assert Watch.of_training(lambda: 1.0, 1000).every == 10
    assert Watch.of_training(lambda: 1.0, 60).every == 1


def test_every_so_many_iterations():
    watch = Watch(lambda: 0.5, every=10)
    seen = [k for k in range(1, 41) if watch.look(k, 1e9) is not None]
    assert seen == [10, 20, 30, 40]


def test_batches_of_iterations():
    watch = Watch(lambda: 0.5, every=10)
    assert [k for k in (7, 14, 21, 28, 35) if watch.look(k, 1e9) is not None] == [14, 21, 35]


def test_its_share_of_the_time(own_time):
    def slow():
        own_time.skip(0.01)
        return 0.5

    watch = Watch(slow, every=1, share=0.02)
    assert watch.look(1, 0.0) == 0.5  # the first shows what one costs
    assert watch.look(2, 0.9) is None
    assert watch.look(3, 60.0) == 0.5
